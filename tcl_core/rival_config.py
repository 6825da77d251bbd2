"""Sizes of the rankers that ours is compared with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """TLP's network with the sizes of its published code (Zhai et al., ASPLOS 2023).

    Attributes:
        widen: width of the tokens, and of the layers that widen them for attention.
        narrow: widths of the layers behind it, before the tokens' own width.
    """

    widen: tuple[int, ...] = (64, 128, 256, 256)
    attention_heads: int = 8
    attention_layers: int = 1
    residual_blocks: int = 2
    narrow: tuple[int, ...] = (256, 128)
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LstmConfig:
    """The LSTM ranker, of about the Mamba ranker's number of parameters."""

    width: int = 64
    layers: int = 2
    dropout: float = 0.0
