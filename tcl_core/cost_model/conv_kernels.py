"""TensorIR of the causal depthwise convolution with SiLU, forward and backward; see `scan_forward_kernel`.

Shape legend: B sequences, T tokens, D channels, K taps; W lanes of one vector, D = chunks x W.
Token t reads tokens t - K + 1 .. t; tap k weighs token t - K + 1 + k, as in `torch.nn.Conv1d` padded on the left.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention

from tcl_core.cost_model.lane_math import sigmoid


def _convolve(K: int, W: int) -> Any:
    @T.inline
    def convolve(b, c, t, x, weight, bias, pre):  # type: ignore[no-untyped-def]
        for w in T.vectorized(W):
            pre[w] = bias[c * W + w]
        for k in T.unroll(K):
            if t + k >= K - 1:
                for w in T.vectorized(W):
                    pre[w] = pre[w] + weight[k, c * W + w] * x[b, t + k - (K - 1), c * W + w]

    return convolve


def conv_forward(D: int, K: int, W: int) -> Any:
    """Kernel (x, weight_KD, bias_D, history_KD, y); writes y = silu(conv(x)). x may be a view with unit stride inside.

    `history` [K - 1, D] is what came before the first token of every sequence.
    """
    convolve = _convolve(K, W)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(x_: T.handle, weight_: T.handle, bias_: T.handle, history_: T.handle, y_: T.handle) -> None:
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        nb, nt, x_b, x_t = T.int32(), T.int32(), T.int32(), T.int32()
        x = T.match_buffer(x_, (nb, nt, D), strides=[x_b, x_t, 1], align=4)
        weight = T.match_buffer(weight_, (K, D), align=4)
        bias = T.match_buffer(bias_, (D,), align=4)
        history = T.match_buffer(history_, (K - 1, D), align=4)
        y = T.match_buffer(y_, (nb, nt, D), align=4)
        pre = T.alloc_buffer((W,), "float32", scope="local")
        for b, t, c in T.grid(nb, nt, D // W):
            convolve(b, c, t, x, weight, bias, pre)
            for k in T.unroll(K - 1):
                if t + k < K - 1:
                    for w in T.vectorized(W):
                        pre[w] = pre[w] + weight[k, c * W + w] * history[t + k, c * W + w]
            for w in T.vectorized(W):
                y[b, t, c * W + w] = pre[w] * sigmoid(pre[w])

    return main


def conv_backward(D: int, K: int, W: int) -> Any:
    """Kernel (x, weight_KD, bias_D, dy, dpre, dx, dweight_KD, dbias_D).

    dpre [T, W] is scratch of the caller. Writes dx; *adds* to dweight and dbias, which are sums over the batch.
    """
    convolve = _convolve(K, W)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(
        x_: T.handle, weight_: T.handle, bias_: T.handle, dy_: T.handle,
        dpre_: T.handle, dx_: T.handle, dweight_: T.handle, dbias_: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"global_symbol": "main", "tirx.noalias": True})
        nb, nt, x_b, x_t = T.int32(), T.int32(), T.int32(), T.int32()
        x = T.match_buffer(x_, (nb, nt, D), strides=[x_b, x_t, 1], align=4)
        weight = T.match_buffer(weight_, (K, D), align=4)
        bias = T.match_buffer(bias_, (D,), align=4)
        dy = T.match_buffer(dy_, (nb, nt, D), align=4)
        dpre = T.match_buffer(dpre_, (nt, W), align=4)
        dx = T.match_buffer(dx_, (nb, nt, D), align=4)
        dweight = T.match_buffer(dweight_, (K, D), align=4)
        dbias = T.match_buffer(dbias_, (D,), align=4)
        pre = T.alloc_buffer((W,), "float32", scope="local")
        gate = T.alloc_buffer((W,), "float32", scope="local")
        for b, c in T.grid(nb, D // W):
            for t in T.serial(nt):
                convolve(b, c, t, x, weight, bias, pre)
                for w in T.vectorized(W):
                    gate[w] = sigmoid(pre[w])
                    dpre[t, w] = dy[b, t, c * W + w] * gate[w] * (T.float32(1) + pre[w] * (T.float32(1) - gate[w]))
                    dbias[c * W + w] = dbias[c * W + w] + dpre[t, w]
                for k in T.unroll(K):
                    if t + k >= K - 1:
                        for w in T.vectorized(W):
                            dweight[k, c * W + w] = (
                                dweight[k, c * W + w] + dpre[t, w] * x[b, t + k - (K - 1), c * W + w]
                            )
            for t in T.serial(nt):
                for w in T.vectorized(W):
                    dx[b, t, c * W + w] = T.float32(0)
                for k in T.unroll(K):
                    if t + (K - 1) - k < nt:
                        for w in T.vectorized(W):
                            dx[b, t, c * W + w] = dx[b, t, c * W + w] + weight[k, c * W + w] * dpre[t + (K - 1) - k, w]

    return main
