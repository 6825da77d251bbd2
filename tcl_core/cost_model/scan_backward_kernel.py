"""TensorIR of the selective scan's gradients; legend and conventions are those of `scan_forward_kernel`.

For one sequence and W channels at a time: `_recompute` runs the recurrence again and keeps states and decays,
then the tokens are walked through in reverse. Gradients of B and C are sums over channels: they are kept by lane
(`pB`, `pC`) until all chunks are done, and `_sum_lanes` folds them by halves.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.cost_model.lane_math import exp, sigmoid, softplus


def _clear(N: int, W: int) -> Any:
    @T.inline
    def clear(nt, pB, pC):  # type: ignore[no-untyped-def]
        for t, n in T.grid(nt, N):
            for w in T.vectorized(W):
                pB[t, n * W + w] = T.float32(0)
                pC[t, n * W + w] = T.float32(0)

    return clear


def _enter_chunk(N: int, W: int) -> Any:
    @T.inline
    def enter_chunk(c, dA, carry, dA_sum):  # type: ignore[no-untyped-def]
        for n in T.serial(N):
            for w in T.vectorized(W):
                carry[n * W + w] = T.float32(0)
                dA_sum[n * W + w] = dA[n, c * W + w]

    return enter_chunk


def _leave_chunk(N: int, W: int) -> Any:
    @T.inline
    def leave_chunk(c, dA_sum, dA):  # type: ignore[no-untyped-def]
        for n in T.serial(N):
            for w in T.vectorized(W):
                dA[n, c * W + w] = dA_sum[n * W + w]

    return leave_chunk


def _recompute(N: int, W: int) -> Any:
    @T.inline
    def recompute(b, c, nt, u, delta, A, Bm, h, decay, dt, dtu):  # type: ignore[no-untyped-def]
        for n in T.serial(N):
            for w in T.vectorized(W):
                h[0, n * W + w] = T.float32(0)
        for t in T.serial(nt):
            for w in T.vectorized(W):
                dt[w] = softplus(delta[b, t, c * W + w])
                dtu[w] = dt[w] * u[b, t, c * W + w]
            for n in T.unroll(N):
                for w in T.vectorized(W):
                    decay[t, n * W + w] = exp(dt[w] * A[n, c * W + w], bounded_above=True)
                    h[t + 1, n * W + w] = decay[t, n * W + w] * h[t, n * W + w] + dtu[w] * Bm[b, t, n]

    return recompute


def _enter_token(W: int) -> Any:
    @T.inline
    def enter_token(b, c, t, u, delta, Dv, z, dy, dt, dtu, gate, g, y, g_dtu, g_dt):  # type: ignore[no-untyped-def]
        for w in T.vectorized(W):
            dt[w] = softplus(delta[b, t, c * W + w])
            dtu[w] = dt[w] * u[b, t, c * W + w]
            gate[w] = sigmoid(z[b, t, c * W + w])
            g[w] = dy[b, t, c * W + w] * z[b, t, c * W + w] * gate[w]
            y[w] = Dv[c * W + w] * u[b, t, c * W + w]
            g_dtu[w] = T.float32(0)
            g_dt[w] = T.float32(0)

    return enter_token


def _walk_states(N: int, W: int) -> Any:
    """With g = dL/d(C.h + D u), and `carry` = dL/dh brought back from the token after. `gh` is a temporary."""

    @T.inline
    def walk_states(b, c, t, A, Bm, Cm, h, decay, pB, pC, carry, dA_sum, g, dt, dtu, y, gh, g_dtu, g_dt):  # type: ignore[no-untyped-def]
        for n in T.serial(N):
            for w in T.vectorized(W):
                y[w] = y[w] + Cm[b, t, n] * h[t + 1, n * W + w]
                pC[t, n * W + w] = pC[t, n * W + w] + g[w] * h[t + 1, n * W + w]
                gh[w] = carry[n * W + w] + g[w] * Cm[b, t, n]
                pB[t, n * W + w] = pB[t, n * W + w] + gh[w] * dtu[w]
                g_dtu[w] = g_dtu[w] + gh[w] * Bm[b, t, n]
                carry[n * W + w] = gh[w] * decay[t, n * W + w]
                gh[w] = carry[n * W + w] * h[t, n * W + w]
                g_dt[w] = g_dt[w] + gh[w] * A[n, c * W + w]
                dA_sum[n * W + w] = dA_sum[n * W + w] + gh[w] * dt[w]

    return walk_states


def _leave_token(W: int) -> Any:
    @T.inline
    def leave_token(b, c, t, u, delta, Dv, z, dy, dt, gate, g, y, g_dtu, g_dt, du, ddelta, dD, dz):  # type: ignore[no-untyped-def]
        for w in T.vectorized(W):
            dz[b, t, c * W + w] = (
                dy[b, t, c * W + w] * y[w] * gate[w] * (T.float32(1) + z[b, t, c * W + w] * (T.float32(1) - gate[w]))
            )
            du[b, t, c * W + w] = g[w] * Dv[c * W + w] + dt[w] * g_dtu[w]
            dD[c * W + w] = dD[c * W + w] + g[w] * u[b, t, c * W + w]
            ddelta[b, t, c * W + w] = (g_dt[w] + u[b, t, c * W + w] * g_dtu[w]) * sigmoid(delta[b, t, c * W + w])

    return leave_token


def _sum_lanes(N: int, W: int) -> Any:
    @T.inline
    def sum_lanes(b, t, partial, half, out):  # type: ignore[no-untyped-def]
        for n in T.serial(N):
            for w in T.vectorized(W // 2):
                half[w] = partial[t, n * W + w] + partial[t, n * W + W // 2 + w]
            for w in T.vectorized(W // 4):
                half[w] = half[w] + half[W // 4 + w]
            out[b, t, n] = half[0]
            for w in T.serial(W // 4 - 1):
                out[b, t, n] = out[b, t, n] + half[1 + w]

    return sum_lanes


def scan_backward(D: int, N: int, W: int) -> Any:
    """Kernel (u, delta, A_ND, B, C, D, z, dy, h, decay, pB, pC, du, ddelta, dA_ND, dB, dC, dD, dz).

    h [T + 1, N W] and decay, pB, pC [T, N W] are scratch of the caller. Writes du, ddelta, dB, dC, dz; *adds* to
    dA_ND and dD, which are sums over the batch.
    """
    clear, recompute, sum_lanes = _clear(N, W), _recompute(N, W), _sum_lanes(N, W)
    enter_chunk, leave_chunk = _enter_chunk(N, W), _leave_chunk(N, W)
    enter, walk, leave = _enter_token(W), _walk_states(N, W), _leave_token(W)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(
        u_: T.handle, delta_: T.handle, A_: T.handle, B_: T.handle, C_: T.handle, D_: T.handle, z_: T.handle,
        dy_: T.handle, h_: T.handle, decay_: T.handle, pB_: T.handle, pC_: T.handle, du_: T.handle,
        ddelta_: T.handle, dA_: T.handle, dB_: T.handle, dC_: T.handle, dD_: T.handle, dz_: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        nb, nt, nt1 = T.int32(), T.int32(), T.int32()
        B_b, B_t, C_b, C_t, z_b, z_t = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
        u = T.match_buffer(u_, (nb, nt, D), align=4)
        delta = T.match_buffer(delta_, (nb, nt, D), align=4)
        A = T.match_buffer(A_, (N, D), align=4)
        Bm = T.match_buffer(B_, (nb, nt, N), strides=[B_b, B_t, 1], align=4)
        Cm = T.match_buffer(C_, (nb, nt, N), strides=[C_b, C_t, 1], align=4)
        Dv = T.match_buffer(D_, (D,), align=4)
        z = T.match_buffer(z_, (nb, nt, D), strides=[z_b, z_t, 1], align=4)
        dy = T.match_buffer(dy_, (nb, nt, D), align=4)
        h = T.match_buffer(h_, (nt1, N * W), align=4)
        decay = T.match_buffer(decay_, (nt, N * W), align=4)
        pB = T.match_buffer(pB_, (nt, N * W), align=4)
        pC = T.match_buffer(pC_, (nt, N * W), align=4)
        du = T.match_buffer(du_, (nb, nt, D), align=4)
        ddelta = T.match_buffer(ddelta_, (nb, nt, D), align=4)
        dA = T.match_buffer(dA_, (N, D), align=4)
        dB = T.match_buffer(dB_, (nb, nt, N), align=4)
        dC = T.match_buffer(dC_, (nb, nt, N), align=4)
        dD = T.match_buffer(dD_, (D,), align=4)
        dz = T.match_buffer(dz_, (nb, nt, D), align=4)
        carry = T.alloc_buffer((N * W,), "float32", scope="local")
        dA_sum = T.alloc_buffer((N * W,), "float32", scope="local")
        dt, dtu = T.alloc_buffer((W,), "float32", scope="local"), T.alloc_buffer((W,), "float32", scope="local")
        y, gate = T.alloc_buffer((W,), "float32", scope="local"), T.alloc_buffer((W,), "float32", scope="local")
        g, gh = T.alloc_buffer((W,), "float32", scope="local"), T.alloc_buffer((W,), "float32", scope="local")
        g_dtu, g_dt = T.alloc_buffer((W,), "float32", scope="local"), T.alloc_buffer((W,), "float32", scope="local")
        for b in T.serial(nb):
            clear(nt, pB, pC)
            for c in T.serial(D // W):
                recompute(b, c, nt, u, delta, A, Bm, h, decay, dt, dtu)
                enter_chunk(c, dA, carry, dA_sum)
                for i in T.serial(nt):
                    enter(b, c, nt - 1 - i, u, delta, Dv, z, dy, dt, dtu, gate, g, y, g_dtu, g_dt)
                    walk(b, c, nt - 1 - i, A, Bm, Cm, h, decay, pB, pC, carry, dA_sum, g, dt, dtu, y, gh, g_dtu, g_dt)
                    leave(b, c, nt - 1 - i, u, delta, Dv, z, dy, dt, gate, g, y, g_dtu, g_dt, du, ddelta, dD, dz)
                leave_chunk(c, dA_sum, dA)
            for t in T.serial(nt):
                sum_lanes(b, t, pB, gh, dB)
                sum_lanes(b, t, pC, gh, dC)

    return main
