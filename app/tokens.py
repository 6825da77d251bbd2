"""Colour tokens: what a colour is for, in light and dark. Text on `window` and `surface` has a contrast above 4.5."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Colours as "#rrggbb".

    Attributes:
        window, surface, raised: the ground, what lies on it (tables, plots, fields), what can be pressed.
        border, grid: lines around things and inside plots.
        text, muted, disabled: writing, secondary writing, writing that cannot be acted on.
        accent, on_accent, selection: the main action, writing on it, selected rows.
        good, warn, bad: verdicts; never the only mark.
        measured, tuned, untuned, onnxruntime: series of the plots.
    """

    dark: bool
    window: str
    surface: str
    raised: str
    border: str
    grid: str
    text: str
    muted: str
    disabled: str
    accent: str
    accent_hover: str
    on_accent: str
    selection: str
    good: str
    warn: str
    bad: str
    measured: str
    tuned: str
    untuned: str
    onnxruntime: str


LIGHT = Tokens(
    dark=False,
    window="#eef0f4",
    surface="#ffffff",
    raised="#f7f8fa",
    border="#d3d8e0",
    grid="#8893a3",
    text="#1a2029",
    muted="#566072",
    disabled="#a3abb8",
    accent="#1f5fbf",
    accent_hover="#2a70d8",
    on_accent="#ffffff",
    selection="#d5e4fb",
    good="#14703f",
    warn="#9a5b00",
    bad="#b8322a",
    measured="#1f5fbf",
    tuned="#1f5fbf",
    untuned="#b8322a",
    onnxruntime="#9a5b00",
)

DARK = Tokens(
    dark=True,
    window="#15181d",
    surface="#1c2027",
    raised="#272c35",
    border="#343b47",
    grid="#7d8796",
    text="#e7eaf0",
    muted="#9aa5b5",
    disabled="#5d6676",
    accent="#2f74d8",
    accent_hover="#2a68c4",
    on_accent="#ffffff",
    selection="#274368",
    good="#56c98d",
    warn="#e5a94b",
    bad="#f07a70",
    measured="#6aaeff",
    tuned="#6aaeff",
    untuned="#f07a70",
    onnxruntime="#e5a94b",
)
