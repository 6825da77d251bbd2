"""TensorIR of the selective scan; the formulas are those of `scan_reference`.

Shape legend: B sequences, T tokens, D channels, N states; W lanes of one vector, D = chunks x W.
B and T are symbolic, so one kernel serves every shape. D and N are static, so that the states of W channels, [N, W],
are unrolled. Buffers are declared with 4-byte alignment: torch hands over views, and a wider promise faults on them.
Kernels are serial; `scan_fused` splits the batch over threads.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.cost_model.lane_math import exp, sigmoid, softplus


def step(log_decay: Any, state: Any, drive: Any) -> Any:
    """One step of the recurrence: decay the state, add what drives it. `log_decay` is at most 0.

    An expression, not a local variable of the kernel: TVM 0.27 turns those into one scalar for all lanes of a
    vectorised loop, silently.
    """
    return exp(log_decay, bounded_above=True) * state + drive


def scan_forward(D: int, N: int, W: int) -> Any:
    """Kernel (u, delta, A_ND, B, C, D, z, state_ND, y); writes y.

    B, C and z may be views with unit stride inside. `state` is what every sequence starts from.
    """

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(
        u_: T.handle, delta_: T.handle, A_: T.handle, B_: T.handle,
        C_: T.handle, D_: T.handle, z_: T.handle, state_: T.handle, y_: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        nb, nt = T.int32(), T.int32()
        B_b, B_t, C_b, C_t, z_b, z_t = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
        u = T.match_buffer(u_, (nb, nt, D), align=4)
        delta = T.match_buffer(delta_, (nb, nt, D), align=4)
        A = T.match_buffer(A_, (N, D), align=4)
        Bm = T.match_buffer(B_, (nb, nt, N), strides=[B_b, B_t, 1], align=4)
        Cm = T.match_buffer(C_, (nb, nt, N), strides=[C_b, C_t, 1], align=4)
        Dv = T.match_buffer(D_, (D,), align=4)
        z = T.match_buffer(z_, (nb, nt, D), strides=[z_b, z_t, 1], align=4)
        state = T.match_buffer(state_, (N, D), align=4)
        y = T.match_buffer(y_, (nb, nt, D), align=4)
        h = T.alloc_buffer((N * W,), "float32", scope="local")
        dt = T.alloc_buffer((W,), "float32", scope="local")
        dtu = T.alloc_buffer((W,), "float32", scope="local")
        acc = T.alloc_buffer((W,), "float32", scope="local")
        for b, c in T.grid(nb, D // W):
            for n in T.unroll(N):
                for w in T.vectorized(W):
                    h[n * W + w] = state[n, c * W + w]
            for t in T.serial(nt):
                for w in T.vectorized(W):
                    dt[w] = softplus(delta[b, t, c * W + w])
                    dtu[w] = dt[w] * u[b, t, c * W + w]
                    acc[w] = Dv[c * W + w] * u[b, t, c * W + w]
                for n in T.unroll(N):
                    for w in T.vectorized(W):
                        h[n * W + w] = step(dt[w] * A[n, c * W + w], h[n * W + w], dtu[w] * Bm[b, t, n])
                        acc[w] = acc[w] + h[n * W + w] * Cm[b, t, n]
                for w in T.vectorized(W):
                    y[b, t, c * W + w] = acc[w] * z[b, t, c * W + w] * sigmoid(z[b, t, c * W + w])

    return main
