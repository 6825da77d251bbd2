"""Colours for TensorIR, LLVM IR, assembly and CUDA source, in the theme's tokens."""

from __future__ import annotations

import re

from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextLayout

from app.tokens import Tokens
from tcl_core.schedule_events import Language

_STRING = r"\"[^\"\n]*\""
_NUMBER = r"(?<![\w.%$@])-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?f?)\b"
_PATTERNS: dict[Language, tuple[tuple[str, str], ...]] = {
    Language.TENSORIR: (
        ("number", _NUMBER),
        ("keyword", r"\b(?:for|in|with|def|if|else|and|or|not|while|return)\b"),
        ("type", r"@?\bT(?:\.\w+)+"),
        ("string", _STRING),
        ("comment", r"#.*$"),
    ),
    Language.LLVM: (
        ("number", _NUMBER),
        (
            "keyword",
            r"\b(?:define|declare|br|ret|load|store|call|phi|getelementptr|icmp|fmul|fadd|tail|label|select)\b",
        ),
        ("type", r"\b(?:i\d+|float|double|half|ptr|void|label)\b|<\d+ x \w+>"),
        ("name", r"^[\w.$]+(?=:)|@[\w.$]+"),
        ("string", _STRING),
        ("comment", r";.*$"),
    ),
    Language.ASSEMBLY: (
        ("number", r"\$-?(?:0x[0-9a-fA-F]+|\d+)\b|#-?\d+\b"),
        ("keyword", r"^\s+[a-z]\w*"),
        ("type", r"%\w+"),
        ("name", r"^[\w.$]+(?=:)"),
        ("comment", r"^\s+\.\w+.*$"),
    ),
    Language.CUDA: (
        ("number", _NUMBER),
        ("keyword", r"\b(?:for|if|else|while|return|extern|const|struct|__\w+__|__\w+)\b"),
        ("type", r"\b(?:int|float\d?|half\d?|void|unsigned|char|bool|threadIdx|blockIdx|int64_t|uint)\b"),
        ("string", _STRING),
        ("comment", r"//.*$|/\*.*?\*/"),
    ),
}


class CodeColours:
    """What colours a line has. Later patterns win over earlier ones, so a comment is a comment throughout.

    Not a `QSyntaxHighlighter`, which goes through a whole text at once: 10,000 lines would hold the window up.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._language = Language.TENSORIR
        self._rules: list[tuple[re.Pattern[str], QTextCharFormat]] = []
        self.apply_tokens(tokens)

    def set_language(self, language: Language) -> None:
        """Which patterns apply."""
        self._language = language
        self._make_rules()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._formats = _formats(tokens)
        self._make_rules()

    def _make_rules(self) -> None:
        self._rules = [(re.compile(pattern), self._formats[name]) for name, pattern in _PATTERNS[self._language]]

    def ranges(self, text: str) -> list[QTextLayout.FormatRange]:
        """The coloured parts of a line."""
        found = []
        for pattern, look in self._rules:
            for match in pattern.finditer(text):
                part = QTextLayout.FormatRange()
                part.start, part.length, part.format = match.start(), match.end() - match.start(), look
                found.append(part)
        return found


def _formats(tokens: Tokens) -> dict[str, QTextCharFormat]:
    colours = {
        "keyword": tokens.measured,
        "type": tokens.onnxruntime,
        "name": tokens.text,
        "number": tokens.good,
        "string": tokens.good,
        "comment": tokens.muted,
    }
    made = {}
    for name, colour in colours.items():
        made[name] = QTextCharFormat()
        made[name].setForeground(QColor(colour))
    made["name"].setFontWeight(QFont.Weight.DemiBold)
    return made
