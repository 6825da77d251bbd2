"""The network as a graph of its tasks, with the import report below it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models import quantities, wording
from app.models.graph_looks import Lens
from app.models.studio import StudioModels
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import later, tr
from app.views.import_report import ImportReportView
from app.widgets.graph_geometry import Flow
from app.widgets.graph_legend import GraphLegend
from app.widgets.graph_view import GraphView
from app.widgets.parts import ElidedLabel, EmptyState, label

_LENSES = (
    (Lens.SHARE, later("Share of time"), later("One call's best latency, as a share of the network's estimated time")),
    (Lens.SPEED_UP, later("Speed-up"), later("Latency after the task's first round / best latency")),
    (Lens.STATE, later("State"), later("How far the tuning of each task is")),
    (Lens.OPERATIONS, later("Share of operations"), later("One call's operations, as a share of the network's")),
)


_LEAST_SEARCH = 110
"""Width of what is looked for: the legend gives way first, mark by mark."""


class NetworkPanel(QWidget):
    """Signals: task_selected, with the key of the selected task or "" for none."""

    task_selected = Signal(str)

    def __init__(self, models: StudioModels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._models, self._graph = models, models.graph
        self._key = ""
        self._hits: tuple[int, ...] = ()
        self._hit = -1
        self._stale = False
        self.view = GraphView()
        self.search = QLineEdit()
        self.lens = QComboBox()
        self.fold = _button(tr("Draw repeated blocks as one box each"), checkable=True)
        self.turn = _button(tr("Draw downwards instead of to the right"), checkable=True)
        self.whole = _button(tr("Show the whole network (0)"))
        self.report_button = QToolButton()
        self._found, self._summary = label("", "muted"), ElidedLabel("muted", end=True)
        self.legend = GraphLegend()
        self.report = ImportReportView(models.operators, models.import_issues)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._empty = EmptyState(
            "network", tr("No network yet"), tr("Open a network: its calls appear here as a graph.")
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addWidget(self._stack)
        self._connect()
        self._redraw()

    @property
    def chosen_task(self) -> str:
        """Key of the selected task, "" for none."""
        return self._key

    def select_task(self, task_key: str) -> None:
        """Mark a task's boxes and bring one of them into sight; "" marks none."""
        if task_key != self._key:
            self._key = task_key
            boxes = self._graph.boxes_of(task_key)
            self.view.choose(boxes)
            self.view.reveal(boxes)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.view.apply_tokens(tokens)
        self.legend.apply_tokens(tokens)
        self._empty.apply_tokens(tokens)
        for button, name in ((self.fold, "fold"), (self.turn, "turn"), (self.whole, "fit")):
            button.setIcon(icon(name, tokens.text, tokens.disabled))

    def _content(self) -> QWidget:
        self.search.setPlaceholderText(tr("Find a call"))
        self.search.setAccessibleName(tr("Find a call by task, function or shape"))
        self.search.setToolTip(tr("Task, function or shape (Ctrl+F); Enter goes to the next"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(round(_LEAST_SEARCH * text_scale(self.search.font())))
        self.search.setMaximumWidth(round(220 * text_scale(self.font())))
        self.lens.setAccessibleName(tr("What the colours say"))
        for lens, words, hint in _LENSES:
            self.lens.addItem(tr(words), lens)
            self.lens.setItemData(self.lens.count() - 1, tr(hint), Qt.ItemDataRole.ToolTipRole)
        self.report_button.setText(tr("Import report"))
        self.report_button.setObjectName("browse")
        self.report_button.setCheckable(True)
        self.report_button.setToolTip(tr("Operators of the network, and what the import noticed"))
        top, bottom = QHBoxLayout(), QHBoxLayout()
        for part in (self.lens, self.search, self._found):
            top.addWidget(part)
        top.addStretch()
        top.addWidget(self.legend)
        for button in (self.fold, self.turn, self.whole):
            top.addWidget(button)
        bottom.addWidget(self._summary, 1)
        bottom.addWidget(self.report_button)
        splitter = self._splitter
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.view)
        splitter.addWidget(self.report)
        self.report.hide()
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(splitter, 1)
        layout.addLayout(bottom)
        return content

    def _connect(self) -> None:
        graph, view = self._graph, self.view
        graph.redrawn.connect(self._redraw)
        graph.looked.connect(self._look)
        view.box_clicked.connect(self._click)
        view.ground_clicked.connect(lambda: self._choose(""))
        view.box_opened.connect(self._unfold)
        view.frame_opened.connect(self._fold_away)
        self.lens.currentIndexChanged.connect(lambda: graph.set_lens(Lens(self.lens.currentData())))
        self.lens.currentIndexChanged.connect(self._tell_legend)
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(self._next_hit)
        self.fold.clicked.connect(graph.set_folded)
        self.turn.clicked.connect(self._redraw)
        self.whole.clicked.connect(view.fit)
        self.report_button.toggled.connect(self._show_report)

    def _redraw(self) -> None:
        graph, run = self._graph, self._models.run
        self._stale = False
        self._stack.setCurrentIndex(1 if graph.graph else 0)
        flow = Flow.DOWN if self.turn.isChecked() else Flow.RIGHT
        self.view.show_drawing(graph.drawing, graph.looks, flow)
        self.view.choose(graph.boxes_of(self._key))
        repeats = bool(graph.graph and graph.graph.repeats)
        self.fold.setEnabled(repeats)
        self.fold.setChecked(graph.folded and repeats)
        self._tell_legend()
        self._search(self.search.text())
        if graph.graph is not None:
            report = run.opened.report if run.opened else None
            self._summary.setText(wording.graph_facts(graph.graph, report))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802  Qt's name
        super().showEvent(event)
        if self._stale:
            self._look()

    def _look(self) -> None:
        self._stale = not self.isVisible()  # behind another panel it would cost as much as in sight
        if self._stale:
            return
        self.view.show_looks(self._graph.looks)
        self._tell_legend()

    def _tell_legend(self) -> None:
        lens = self._graph.lens
        hot = self._graph.hottest
        if lens is Lens.STATE or hot is None:
            self.legend.show_ramp("", "")
        else:
            self.legend.show_ramp("1×" if lens is Lens.SPEED_UP else quantities.percent(0.0), hot.value)

    def _show_report(self, shown: bool) -> None:
        self.report.setVisible(shown)
        high = self._splitter.height()
        self._splitter.setSizes([high - min(220, high // 2), min(220, high // 2)])

    def _click(self, number: int) -> None:
        keys = [key for key in self._graph.drawing.boxes[number].keys if key]
        if len(set(keys)) > 1:
            # A folded repeat holds many tasks: each click takes the next.
            known = list(dict.fromkeys(keys))
            self._choose(known[(known.index(self._key) + 1) % len(known)] if self._key in known else known[0])
        else:
            self._choose(keys[0] if keys else "")

    def _choose(self, task_key: str) -> None:
        if task_key != self._key:
            self.select_task(task_key)
            self.task_selected.emit(task_key)

    def _unfold(self, number: int) -> None:
        repeat = self._graph.drawing.boxes[number].repeat
        if repeat is not None:
            self._graph.set_folded(False)
            self.view.reveal(self._graph.boxes_inside(repeat))

    def _fold_away(self, repeat: int) -> None:
        self._graph.set_folded(True)
        self.view.reveal(self._graph.boxes_inside(repeat))

    def _search(self, text: str) -> None:
        self._hits, self._hit = self._graph.find(text), -1
        self.view.mark_found(self._hits)
        self._found.setText(tr("{count:,} found", count=len(self._hits)) if text.strip() else "")

    def _next_hit(self) -> None:
        if self._hits:
            self._hit = (self._hit + 1) % len(self._hits)
            self._found.setText(tr("{hit:,} of {count:,}", hit=self._hit + 1, count=len(self._hits)))
            self.view.go_to(self._hits[self._hit])
            self._click(self._hits[self._hit])


def _button(hint: str, *, checkable: bool = False) -> QToolButton:
    made = QToolButton()
    made.setObjectName("browse")
    made.setAccessibleName(hint)
    made.setToolTip(hint)
    made.setCheckable(checkable)
    return made
