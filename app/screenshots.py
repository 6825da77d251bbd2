"""Pictures of every panel from a real run of the bundled sample, for ``main.py screenshots``.

The window is driven by what a person could do; each picture is taken when the event loop has come to rest. Prints the
path of each picture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Studio
from app.jobs.engine_thread import EngineLoss
from app.passing_studio import passing_studio
from app.theme import Scheme
from app.widgets.plot_card import PlotCard
from tcl_core.engine import serve
from tcl_core.events import Crashed, Event, Finished, NetworkOpened, Refused

SIZES = ((1280, 800), (2560, 1440))
SCHEMES = (Scheme.LIGHT, Scheme.DARK)
_REST_MS = 400
"""Plots are drawn at the next turn of the event loop, pages and tool tips a little later."""
_ANSWER_MS = 30_000
"""What the engine says of a record is there by then; a source that is generated takes longest."""


@dataclass(frozen=True)
class Scene:
    """One picture in each size and scheme: its name, and how the window gets there."""

    name: str
    show: Callable[[], None]


class Photographer(QObject):
    """Takes the window through a run and its pictures, then closes it.

    Attributes:
        problem: why the run gave no pictures, one sentence; "" while all is well.
    """

    def __init__(self, studio: Studio, out: Path, minutes: float, workspace: str, tell: Callable[[Path], None]) -> None:
        super().__init__()
        self._studio, self._out, self._minutes, self._workspace = studio, out, minutes, workspace
        self._tell = tell
        self._over = False
        self.problem = ""
        studio.engine.events.connect(self._take_events)
        studio.engine.lost.connect(self._take_loss)

    def begin(self) -> None:
        """The start page first: nothing is open yet."""
        self._take_all([Scene("start", _as_it_is)], then=lambda: self._studio.controller.open_network(None))

    def _take_events(self, batch: tuple[Event, ...]) -> None:
        for event in batch:
            match event:
                case NetworkOpened() if not self._studio.models.run.busy:
                    QTimer.singleShot(0, self._start_run)
                case Finished() if not self._over:
                    self._over = True
                    QTimer.singleShot(0, self._open_schedule)
                case Refused(sentence=sentence):
                    self._give_up(sentence)
                case Crashed(failure=failure):
                    self._give_up(f"The engine crashed: {failure.cause}.")

    def _take_loss(self, loss: EngineLoss) -> None:
        self._give_up(loss.reason)

    def _give_up(self, problem: str) -> None:
        self.problem = self.problem or problem
        self._studio.window.close_unasked()

    def _start_run(self) -> None:
        request = self._studio.window.run_panel.form.request
        self._studio.controller.start_run(replace(request, minutes=self._minutes, workspace=self._workspace))
        # Late: what is timed while the pictures are drawn comes out a thousand times too slow, on two cores.
        QTimer.singleShot(round(self._minutes * 60_000 * 0.75), self._picture_run)

    def _picture_run(self) -> None:
        if not self._over:
            self._take_all([Scene("running", _as_it_is)], then=_as_it_is)

    def _open_schedule(self) -> None:
        """The best record of the task that takes most of the network's time is read in the schedules panel."""
        models = self._studio.models
        tuned = [state for state in models.tasks.states if state.best_s is not None]
        if not tuned:
            self._give_up("The run gave no latency of any task; give it more minutes.")
            return
        heaviest = max(tuned, key=lambda state: state.task.weight * (state.best_s or 0.0))
        self._studio.window.task_panel.select_task(heaviest.task.key)
        self._studio.schedules.open_best()
        self._await(lambda: not models.schedules.chosen.waiting, self._open_what_if)

    def _open_what_if(self) -> None:
        """The same record's decisions are open in the what-if panel, with what the model says of them."""
        self._studio.window.what_if_panel.best_button.click()
        self._await(lambda: self._studio.models.what_if.answer is not None, self._picture_all)

    def _await(self, answered: Callable[[], bool], then: Callable[[], None], left_ms: int = _ANSWER_MS) -> None:
        if answered() or left_ms <= 0:
            then()
        else:
            QTimer.singleShot(_REST_MS, partial(self._await, answered, then, left_ms - _REST_MS))

    def _picture_all(self) -> None:
        self._studio.window.task_panel.select_task("")
        self._take_all(self._scenes(), then=self._studio.window.close_unasked)

    def _scenes(self) -> list[Scene]:
        """Every panel, and every page of the plots above them."""
        plots = self._studio.window.plots_panel
        panels = [Scene(name, partial(self._show_panel, name)) for name in self._studio.window.docks]
        return [*panels, *_pages(plots.left), *_pages(plots.right)]

    def _show_panel(self, name: str) -> None:
        plots = self._studio.window.plots_panel
        for card in (plots.left, plots.right):
            card.show_page(0)
        self._studio.window.show_panel(name)

    def _take_all(self, scenes: Sequence[Scene], then: Callable[[], None]) -> None:
        self._take_next(product(SIZES, SCHEMES, scenes), then)

    def _take_next(self, left: Iterator[tuple[tuple[int, int], Scheme, Scene]], then: Callable[[], None]) -> None:
        for size, scheme, scene in left:
            self._studio.window.resize(*size)
            if self._studio.theme.scheme is not scheme:
                self._studio.theme.choose(scheme)
            scene.show()
            path = self._out / f"{scene.name}-{scheme.value}-{size[0]}x{size[1]}.png"
            QTimer.singleShot(_REST_MS, partial(self._shoot, path, left, then))
            return
        then()

    def _shoot(
        self, path: Path, left: Iterator[tuple[tuple[int, int], Scheme, Scene]], then: Callable[[], None]
    ) -> None:
        if self._studio.window.grab().save(str(path)):
            self._tell(path)
            self._take_next(left, then)
        else:
            self._give_up(f"{path} could not be written.")


def _as_it_is() -> None:
    """The window shows it already."""


def _pages(card: PlotCard) -> Iterable[Scene]:
    for number in range(card.tabs.count()):
        name = card.tabs.tabText(number).lower().replace(" ", "-")
        yield Scene(f"plot-{name}", partial(card.show_page, number))


def main(argv: Sequence[str]) -> int:
    """Take all pictures; exit status 2 when the run gave none."""
    parser = argparse.ArgumentParser(description="take pictures of every panel")
    parser.add_argument("out", type=Path)
    parser.add_argument("minutes", type=float)
    arguments = parser.parse_args(argv)

    def tell(path: Path) -> None:
        sys.stdout.write(f"{path}\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory() as name, passing_studio(serve, Path(name)) as studio:
        studio.window.show()
        photographer = Photographer(studio, arguments.out, arguments.minutes, str(Path(name) / "sample"), tell)
        QTimer.singleShot(_REST_MS, photographer.begin)
        QApplication.exec()
    if photographer.problem:
        sys.stderr.write(photographer.problem + "\n")
    return 2 if photographer.problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
