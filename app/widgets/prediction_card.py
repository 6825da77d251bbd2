"""What the cost model expects of a what-if, beside what was measured of it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.icons import icon
from app.models import what_if_wording as wording
from app.models.run_state import RunState
from app.models.schedule_wording import outcome
from app.models.what_if import WhatIf
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import tr
from app.widgets.parts import ElidedLabel, label
from tcl_core.what_if_events import WhatIfScored

_KEYS = "Ctrl+M"
_LEAST_WIDTH = 190
"""In pixels: below this its sentences take more lines than the card is high."""


class PredictionCard(QFrame):
    """Signals: measure_requested."""

    measure_requested = Signal()

    def __init__(self, what_if: WhatIf, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setMinimumWidth(round(_LEAST_WIDTH * text_scale(self.font())))
        self._what_if, self._run = what_if, run
        self.rank = label("", "figure", wrap=True)
        self.score, self.alike = label("", wrap=True), label("", "muted", wrap=True)
        self.loops, self.model = ElidedLabel("muted"), label("", "muted", wrap=True)
        self.measured, self.problem = label("", "section", wrap=True), label("", "warn", wrap=True)
        self.reason = label("", "muted", wrap=True)
        self.measure_button = QPushButton()
        self.measure_button.setObjectName("primary")
        self._name_button(tr("Measure"))
        self.measure_button.clicked.connect(self.measure_requested)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(4)
        self.words = self._scrolled_words()
        layout.addWidget(self.words, 1)
        layout.addWidget(self.measure_button)

    def _scrolled_words(self) -> QScrollArea:
        """In a low window the sentences scroll above the button, rather than lie on each other."""
        words, area = QWidget(), QScrollArea()
        layout = QVBoxLayout(words)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for part in (self.rank, self.score, self.alike, self.measured, self.problem, self.loops, self.model):
            layout.addWidget(part)
        layout.addStretch()
        layout.addWidget(self.reason)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(words)
        for ground in (area.viewport(), words):
            ground.setAutoFillBackground(False)
        return area

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.measure_button.setIcon(icon("start", tokens.on_accent, tokens.disabled))

    def refresh(self) -> None:
        """Show the model."""
        answer = self._what_if.answer
        self._show_prediction(answer)
        self._show_measured(answer)
        self.problem.setText(self._problem(answer))
        desk = self._what_if.desk
        reason = wording.held(
            answer, measuring=self._what_if.measuring, runnable=desk is not None and desk.runnable, run=self._run
        )
        self.measure_button.setEnabled(desk is not None and not reason)
        self._name_button(tr("Measuring…") if self._what_if.measuring else tr("Measure"))
        self.measure_button.setToolTip(reason or tr("Compile and time this candidate now ({keys})", keys=_KEYS))
        measuring = self._what_if.measuring
        waits = (measuring or answer is None) and not self._what_if.problem
        self.reason.setText(wording.awaited(self._run, measuring=measuring) if waits else reason)
        for part in (self.score, self.alike, self.loops, self.model, self.measured, self.problem, self.reason):
            part.setVisible(bool(part.text()))

    def _name_button(self, text: str) -> None:
        if text != self.measure_button.text():
            self.measure_button.setText(text)  # which takes the keys away
            self.measure_button.setShortcut(QKeySequence(_KEYS))

    def _show_prediction(self, answer: WhatIfScored | None) -> None:
        prediction = answer.prediction if answer else None
        known = prediction is not None and prediction.score is not None
        if prediction is not None and known:
            self.rank.setText(wording.rank(prediction))
            self.score.setText(tr("Predicted score {score:.2f}; higher is faster", score=prediction.score))
            self.score.setToolTip(prediction.note)
            self.alike.setText(wording.alike(prediction))
        else:
            self.rank.setText("…" if answer is None else tr("no prediction"))
            self.score.setText("")
            self.alike.setText("")
        loops = wording.loops(answer.loops) if answer else ""
        why = tr("The sketch fixes how many loops run in parallel or vectorised; the tiles make their extents")
        self.loops.setText(loops)  # names of fused loops are longer than the card is wide
        self.loops.setToolTip(f"{loops}\n{why}" if loops else why)
        self.model.setText(prediction.note if prediction and not known else "")

    def _show_measured(self, answer: WhatIfScored | None) -> None:
        record = answer.record if answer else None
        best_s = self._what_if.desk.best_s if self._what_if.desk else None
        self.measured.setText("" if record is None else tr("Measured: {outcome}", outcome=outcome(record, best_s)))

    def _problem(self, answer: WhatIfScored | None) -> str:
        if self._what_if.problem:
            return self._what_if.problem
        return wording.illegal(answer) if answer else ""
