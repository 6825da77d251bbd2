"""The graph on a canvas: drag to move, turn the wheel to zoom, click a box. Knows boxes, not tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QGraphicsItem, QGraphicsScene, QGraphicsView, QWidget

from app.models.graph_looks import Look
from app.models.network_graph import Drawing
from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.graph_geometry import BOX_HEIGHT, BOX_WIDTH, Flow, Geometry
from app.widgets.graph_items import BoxItem, EdgeItem, FrameItem
from app.widgets.minimap import Minimap

_LEAST, _MOST = 0.002, 2.5
_READABLE = 0.72
"""Scale at which a network is first shown where all of it would be too small to read."""
_STEP = 1.25
_FRAME = 14.0
_NOWHERE = QPoint(-10_000, -10_000)


class GraphView(QGraphicsView):
    """Signals: box_clicked and box_opened (double click) with a box's number, ground_clicked, frame_opened (repeat)."""

    box_clicked = Signal(int)
    box_opened = Signal(int)
    frame_opened = Signal(int)
    ground_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = LIGHT
        self._geometry = Geometry(Flow.RIGHT)
        self._pressed = QPoint()
        # Until a person moves or zooms, a drawing keeps to its beginning as the panel is resized.
        self._fresh = False
        self.boxes: list[BoxItem] = []
        self._edges: list[EdgeItem] = []
        self._frames: list[FrameItem] = []
        self.setScene(QGraphicsScene(self))
        self.setObjectName("graph")  # the style sheet gives it a border that shows the focus
        self.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Graph of the network"))
        self.setAccessibleDescription(tr("Arrow keys move, plus and minus zoom, 0 fits. The task table says the same."))
        self.minimap = Minimap(self)
        self.minimap.moved.connect(self._go)
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.valueChanged.connect(self._tell_minimap)

    @property
    def flow(self) -> Flow:
        """Where the outputs lie."""
        return self._geometry.flow

    @property
    def scale_now(self) -> float:
        """Pixels on screen per pixel of the drawing."""
        return self.transform().m11()

    def show_drawing(self, drawing: Drawing, looks: Sequence[Look], flow: Flow) -> None:
        """Draw anew, from the network's beginning."""
        self._geometry = Geometry(flow)
        scene, base = self.scene(), self.font()
        scene.clear()
        points = [box.at for box in drawing.boxes]
        self.boxes = [BoxItem(number, box, self._tokens, base) for number, box in enumerate(drawing.boxes)]
        for item, point in zip(self.boxes, points, strict=True):
            item.setPos(self._geometry.centre(point))
        self._edges = [
            EdgeItem(
                self._geometry.edge(points[route.source], route.bends, points[route.target]),
                self._geometry.head(points[route.target]),
            )
            for route in drawing.routes
        ]
        self._frames = [
            FrameItem(self._around(frame.boxes), frame.title, frame.repeat, base) for frame in drawing.frames
        ]
        parts: tuple[QGraphicsItem, ...] = (*self._frames, *self._edges, *self.boxes)
        for part in parts:
            scene.addItem(part)
        scene.setSceneRect(self._geometry.scene(drawing.extent))
        self.show_looks(looks)
        self._redraw_minimap()
        self._colour_lines()
        self._fresh = True
        self._begin()

    def show_looks(self, looks: Sequence[Look]) -> None:
        """Colour those boxes whose look is another object."""
        changed = [(item, look) for item, look in zip(self.boxes, looks, strict=True) if item.look is not look]
        for item, look in changed:
            item.set_look(look)
        if changed:
            self.minimap.colour_again()

    def choose(self, numbers: Collection[int]) -> None:
        """Mark the boxes of the selected task."""
        for item in self.boxes:
            item.set_chosen(item.number in numbers)
        self._redraw_minimap()

    def mark_found(self, numbers: Collection[int]) -> None:
        """Mark the hits of a search."""
        for item in self.boxes:
            item.set_found(item.number in numbers)

    def reveal(self, numbers: Sequence[int]) -> None:
        """Bring the first of some boxes into sight, unless one of them is."""
        sight = self.sight()
        if numbers and not any(sight.contains(self.boxes[number].pos()) for number in numbers):
            self.go_to(numbers[0])

    def go_to(self, number: int) -> None:
        """Bring a box to the middle."""
        self._fresh = False
        self.centerOn(self.boxes[number])

    def fit(self) -> None:
        """Show all of it."""
        scale = min(1.2, self._fitting()[0])
        self._fresh = False
        self._scale_to(scale)
        self.centerOn(self.sceneRect().center())

    def zoom(self, factor: float) -> None:
        """Zoom about the anchor."""
        self._fresh = False
        self._scale_to(self.scale_now * factor)

    def sight(self) -> QRectF:
        """The part of the drawing on screen."""
        return self.mapToScene(self.viewport().rect()).boundingRect()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self.setBackgroundBrush(QColor(tokens.surface))
        for item in self.boxes:
            item.set_tokens(tokens)
        self._colour_lines()
        self.minimap.apply_tokens(tokens)
        self._redraw_minimap()

    def _colour_lines(self) -> None:
        pen = QPen(QColor(self._tokens.grid), 1.2)
        for edge in self._edges:
            edge.setPen(pen)
        for frame in self._frames:
            frame.set_tokens(self._tokens)

    def _around(self, numbers: Sequence[int]) -> QRectF:
        rect = QRectF()
        for number in numbers:
            corner = QPointF(BOX_WIDTH / 2, BOX_HEIGHT / 2)
            rect = rect.united(QRectF(self.boxes[number].pos() - corner, self.boxes[number].pos() + corner))
        return rect.adjusted(-_FRAME, -_FRAME - 6.0, _FRAME, _FRAME)

    def _fitting(self) -> tuple[float, float]:
        """Scales that show all of it, and all of it across the flow."""
        whole, port = self.sceneRect(), self.viewport().rect()
        wide, high = port.width() / max(1.0, whole.width()), port.height() / max(1.0, whole.height())
        return min(wide, high), (wide if self.flow is Flow.DOWN else high)

    def _begin(self) -> None:
        """All of it where that can be read, else its beginning."""
        if not self.isVisible() or not self.boxes:
            return
        everything, across = self._fitting()
        if everything >= _READABLE:
            self.fit()
            self._fresh = True
            return
        self._scale_to(min(1.0, max(_READABLE, across)))
        whole, sight = self.sceneRect(), self.sight()
        first = self.boxes[0].pos()
        if self.flow is Flow.DOWN:
            self.centerOn(first.x(), whole.top() + sight.height() / 2)
        else:
            self.centerOn(whole.left() + sight.width() / 2, first.y())

    def _scale_to(self, scale: float) -> None:
        factor = min(_MOST, max(_LEAST, scale)) / self.scale_now
        self.scale(factor, factor)
        self._tell_minimap()

    def _go(self, point: QPointF) -> None:
        self._fresh = False
        self.centerOn(point)

    def _tell_minimap(self) -> None:
        self.minimap.show_sight(self.sight(), slack=4.0 / self.scale_now)

    def _place_minimap(self) -> None:
        self.minimap.move(self.rect().bottomRight() - QPoint(self.minimap.width() + 8, self.minimap.height() + 8))

    def _redraw_minimap(self) -> None:
        self.minimap.show_boxes(self.sceneRect(), self.boxes)
        self._place_minimap()
        self._tell_minimap()

    # Qt's hooks

    def showEvent(self, event: object) -> None:  # noqa: N802  Qt's name
        super().showEvent(event)  # type: ignore[arg-type]  # a QShowEvent, whatever the stub of the base says
        if self._fresh:
            self._begin()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._place_minimap()
        if self._fresh:
            self._begin()
        self._tell_minimap()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802  Qt's name
        self.zoom(1.0015 ** event.angleDelta().y())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802  Qt's name
        match event.key():
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(_STEP)
            case Qt.Key.Key_Minus:
                self.zoom(1 / _STEP)
            case Qt.Key.Key_0 | Qt.Key.Key_Home:
                self.fit()
            case _:
                super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        self._pressed = event.position().toPoint()
        self._fresh = False
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        super().mouseReleaseEvent(event)
        moved = (event.position().toPoint() - self._pressed).manhattanLength()
        if event.button() is not Qt.MouseButton.LeftButton or moved >= QApplication.startDragDistance():
            return
        item = self.itemAt(event.position().toPoint())
        if isinstance(item, BoxItem):
            self.box_clicked.emit(item.number)
        else:
            self.ground_clicked.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        self._pressed = _NOWHERE  # the release that follows is no second click
        item = self.itemAt(event.position().toPoint())
        if isinstance(item, BoxItem):
            self.box_opened.emit(item.number)
        elif isinstance(item, FrameItem):
            self.frame_opened.emit(item.repeat)
