"""The network's graph as the window draws it: boxes with words, looks through a lens, folded or in full.

Positions come finished from the engine (`tcl_core.graphs`); here they only meet the task table.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.models import quantities
from app.models.graph_looks import Lens, Look, box_looks
from app.models.task_table import TaskTableModel
from app.translation import tr
from tcl_core.graphs import GraphLayout, GraphNode, GraphRoute, NetworkGraph, NodeKind, Point


@dataclass(frozen=True, kw_only=True)
class Box:
    """One box: a node of the network, or a folded repeat.

    Attributes:
        keys: task of each call inside, "" for a call without one; empty for inputs and outputs.
        repeat: index of the repeat it stands for, None for a single node.
    """

    kind: NodeKind
    title: str
    detail: str
    hint: str
    at: Point
    keys: tuple[str, ...] = ()
    repeat: int | None = None


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The boxes of one occurrence of a repeat, named "2 of 12"."""

    repeat: int
    title: str
    boxes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Everything that is drawn, in the units of `tcl_core.graphs`."""

    boxes: tuple[Box, ...] = ()
    routes: tuple[GraphRoute, ...] = ()
    frames: tuple[Frame, ...] = ()
    extent: Point = (0.0, 0.0)


class NetworkGraphModel(QObject):
    """State of the graph panel.

    Signals:
        redrawn: `drawing` is another.
        looked: `looks` may be others; once, until they are asked for.
    """

    redrawn = Signal()
    looked = Signal()

    def __init__(self, tasks: TaskTableModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._graph: NetworkGraph | None = None
        self._folded = True
        self._lens = Lens.SHARE
        self.drawing = Drawing()
        self._contents: tuple[tuple[str, ...], ...] = ()  # the keys of boxes, each once: many boxes are of one task
        self._look_of: dict[tuple[str, ...], Look] = {}
        self._looks: tuple[Look, ...] = ()
        self._stale = False
        tasks.modelReset.connect(self._look_again)
        tasks.dataChanged.connect(self._look_again)

    @property
    def graph(self) -> NetworkGraph | None:
        """The graph on screen; None before a network was opened."""
        return self._graph

    @property
    def folded(self) -> bool:
        """Whether repeats are drawn as one box each."""
        return self._folded

    @property
    def lens(self) -> Lens:
        """What the colours say."""
        return self._lens

    @property
    def looks(self) -> tuple[Look, ...]:
        """How each of the drawing's boxes looks. One that stays as it was is the same object."""
        if self._stale:
            self._stale = False
            states = {state.task.key: state for state in self._tasks.states}
            looks = box_looks(self._contents, states, self._tasks.active, self._lens)
            before, self._look_of = self._look_of, dict(zip(self._contents, looks, strict=True))
            self._look_of.update((keys, look) for keys, look in before.items() if self._look_of.get(keys) == look)
            self._looks = tuple(self._look_of[box.keys] for box in self.drawing.boxes)
        return self._looks

    @property
    def hottest(self) -> Look | None:
        """The look at the upper end of the colour ramp; None where no box has a colour of it."""
        hot = [look for look in self._look_of.values() if look.heat is not None] if self.looks else []
        return max(hot, key=lambda look: look.heat or 0.0, default=None)

    def set_graph(self, graph: NetworkGraph | None) -> None:
        """Show another network, its repeats folded. The same network again (a run begins) stays as it is drawn."""
        shown = self._graph
        if shown is not None and graph is not None and (shown.nodes, shown.edges) == (graph.nodes, graph.edges):
            return
        self._graph = graph
        self._folded = True
        self._redraw()

    def set_folded(self, folded: bool) -> None:
        """Draw repeats as one box each, or all their nodes."""
        if folded != self._folded:
            self._folded = folded
            self._redraw()

    def set_lens(self, lens: Lens) -> None:
        """Colour by something else."""
        self._lens = lens
        self._look_again()

    def boxes_of(self, task_key: str) -> tuple[int, ...]:
        """Boxes that hold a call of a task, in the network's order."""
        return tuple(number for number, box in enumerate(self.drawing.boxes) if task_key and task_key in box.keys)

    def boxes_inside(self, repeat: int) -> tuple[int, ...]:
        """Boxes of a repeat: one while it is folded."""
        if self._graph is None:
            return ()
        layout, nodes = self._layout(self._graph), self._graph.repeats[repeat].nodes
        return tuple(number for number, place in enumerate(layout.places) if place.node in nodes)

    def find(self, text: str) -> tuple[int, ...]:
        """Boxes that say a text somewhere, in the network's order."""
        wanted = text.strip().casefold()
        if not wanted:
            return ()
        return tuple(number for number, box in enumerate(self.drawing.boxes) if wanted in box.hint.casefold())

    def _layout(self, graph: NetworkGraph) -> GraphLayout:
        return graph.folded if self._folded else graph.full

    def _redraw(self) -> None:
        graph = self._graph
        if graph is None:
            self.drawing = Drawing()
        else:
            layout = self._layout(graph)
            boxes = tuple(
                self._node_box(graph.nodes[place.node], place.at)
                if place.repeat is None
                else self._repeat_box(graph, place.repeat, place.at)
                for place in layout.places
            )
            frames = () if self._folded else _frames(graph)
            self.drawing = Drawing(boxes=boxes, routes=layout.routes, frames=frames, extent=layout.extent)
        self._contents = tuple(dict.fromkeys(box.keys for box in self.drawing.boxes))
        self._stale = True
        self.redrawn.emit()

    def _node_box(self, node: GraphNode, at: Point) -> Box:
        name = self._tasks.name_of(node.task_key) if node.task_key else node.name
        shape = " × ".join(map(str, node.shape)) or tr("scalar")
        lines = (
            [name, tr("call of {name}", name=node.name)]
            if node.kind is NodeKind.CALL
            else [f"{node.kind.value} {node.name}"]
        )
        lines.append(
            tr("makes {dtype} [{shape}]", dtype=node.dtype, shape=shape)
            if node.kind is NodeKind.CALL
            else f"{node.dtype} [{shape}]"
        )
        return Box(
            kind=node.kind,
            title=name.removeprefix("fused_"),
            detail=shape,
            hint="\n".join(lines),
            at=at,
            keys=(node.task_key,) if node.kind is NodeKind.CALL else (),
        )

    def _repeat_box(self, graph: NetworkGraph, number: int, at: Point) -> Box:
        repeat = graph.repeats[number]
        inside = [graph.nodes[index] for index in repeat.nodes]
        names = dict.fromkeys(self._tasks.name_of(node.task_key) if node.task_key else node.name for node in inside)
        lines = [
            tr("{count} times the same {size}:", count=repeat.count, size=quantities.calls(repeat.size)),
            *names,
            tr("Double-click unfolds it."),
        ]
        return Box(
            kind=NodeKind.CALL,
            title=tr("{count} × the same block", count=repeat.count),
            detail=tr("{size} each", size=quantities.calls(repeat.size)),
            hint="\n".join(lines),
            at=at,
            keys=tuple(node.task_key for node in inside),
            repeat=number,
        )

    def _look_again(self) -> None:
        if not self._stale:
            self._stale = True
            self.looked.emit()


def _frames(graph: NetworkGraph) -> tuple[Frame, ...]:
    return tuple(
        Frame(
            repeat=number,
            title=tr("{occurrence} of {count}", occurrence=occurrence + 1, count=repeat.count),
            boxes=tuple(range(start, start + repeat.size)),
        )
        for number, repeat in enumerate(graph.repeats)
        for occurrence, start in enumerate(range(repeat.first, repeat.nodes.stop, repeat.size))
    )
