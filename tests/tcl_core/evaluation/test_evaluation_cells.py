"""Finished cells are kept, found again, and never stale."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import EpochReport
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation import cells
from tcl_core.evaluation.cells import CellFolder, CellProgress, Tell, Value, digest_of, run_cells
from tcl_core.events import CancelToken


class Work:
    """Counts what it is asked for; stops the token after `until` cells."""

    def __init__(self, token: CancelToken, until: int | None = None) -> None:
        self.done: list[tuple[str, int]] = []
        self._token, self._until = token, until

    def __call__(self, row: str, seed: int, tell: Tell) -> Value:
        tell("replaying")
        tell(
            EpochReport(
                epoch=1, epochs=3, loss=0.5, validation_pairs=None, validation_top1=None, best_epoch=1, seconds=0.0
            )
        )
        if len(self.done) == self._until:
            self._token.stop()
            self._token.checkpoint()
        self.done.append((row, seed))
        return {"top1": seed / 10}


def run(folder: Path, work: Work, token: CancelToken) -> tuple[dict[tuple[str, int], Value], list[CellProgress]]:
    told: list[CellProgress] = []
    return run_cells(CellFolder(folder), "table", ("mamba", "R + D"), (0, 1), work, told.append, token), told


def test_an_interrupted_table_goes_on_where_it_was(tmp_path: Path) -> None:
    token = CancelToken()
    first = Work(token, until=3)
    with pytest.raises(Interrupted):
        run(tmp_path, first, token)
    token = CancelToken()
    second = Work(token)
    values, told = run(tmp_path, second, token)
    assert first.done + second.done == [("mamba", 0), ("R + D", 0), ("mamba", 1), ("R + D", 1)]
    assert values["R + D", 1] == {"top1": 0.1}
    assert [each.done for each in told if each.resumed] == [1, 2, 3]
    assert told[-1].done == told[-1].total == 4
    assert [(each.words, each.epoch is not None) for each in told[-4:]] == [
        ("", False),
        ("replaying", False),
        ("", True),
        ("", False),
    ]


def test_a_damaged_cell_is_done_again(tmp_path: Path) -> None:
    token = CancelToken()
    run(tmp_path, Work(token), token)
    for path in tmp_path.glob("mamba-0.json"):
        path.write_text('{"row": "mam', encoding="utf-8")
    for path in tmp_path.glob("mamba-1.json"):
        path.write_text('{"row": "mamba", "seed": 1}', encoding="utf-8")
    again = Work(token)
    run(tmp_path, again, token)
    assert again.done == [("mamba", 0), ("mamba", 1)]


def test_cells_of_any_names_lie_apart(tmp_path: Path) -> None:
    folder, rows = CellFolder(tmp_path), ("a b", "a_b", "a/b", "网络", "网路", "é", "../a")
    for number, row in enumerate(rows):
        folder.write(row, 0, {"top1": number})
    assert [folder.read(row, 0) for row in rows] == [{"top1": number} for number in range(len(rows))]
    assert len(list(tmp_path.iterdir())) == len(rows)


def test_a_full_disk_leaves_the_old_cell_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = CellFolder(tmp_path)
    folder.write("mamba", 0, {"top1": 0.5})

    def full(path: Path, text: str, **_: str) -> None:
        path.write_bytes(text[:4].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UserError, match=r"cannot be kept in .* \(No space left on device\)"):
        folder.write("mamba", 0, {"top1": 0.6})
    assert folder.read("mamba", 0) == {"top1": 0.5}
    assert len(list(tmp_path.iterdir())) == 1


def test_what_another_process_is_at_is_left_to_it(tmp_path: Path) -> None:
    folder, token = CellFolder(tmp_path), CancelToken()
    work, told = Work(token), []
    with ExitStack() as other:
        assert other.enter_context(folder.claim("mamba", 0))

        def watch(progress: CellProgress) -> None:
            told.append(progress)
            if progress.waiting:
                folder.write("mamba", 0, {"top1": 0.9})
                other.close()

        values = run_cells(folder, "table", ("mamba", "R + D"), (0, 1), work, watch, token)
    assert work.done == [("R + D", 0), ("mamba", 1), ("R + D", 1)]
    assert values["mamba", 0] == {"top1": 0.9}
    assert sum(each.waiting for each in told) == 1
    assert (told[-1].row, told[-1].done, told[-1].total, told[-1].resumed) == ("mamba", 4, 4, True)


def test_a_cell_that_another_process_gave_up_is_done_after_all(tmp_path: Path) -> None:
    folder, token = CellFolder(tmp_path), CancelToken()
    work = Work(token)
    with ExitStack() as other:
        other.enter_context(folder.claim("mamba", 0))
        run_cells(folder, "table", ("mamba",), (0,), work, lambda told: other.close() if told.waiting else None, token)
    assert work.done == [("mamba", 0)]


def test_a_claim_is_one_process_s_and_ends_with_the_block(tmp_path: Path) -> None:
    folder = CellFolder(tmp_path)
    for _ in range(2):
        with folder.claim("mamba", 0) as first, folder.claim("mamba", 0) as second, folder.claim("mamba", 1) as other:
            assert (first, second, other) == (True, False, True)


def test_a_cell_holds_finite_numbers_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        CellFolder(tmp_path).write("mamba", 0, {"top1": float("nan")})
    assert CellFolder(tmp_path).read("mamba", 0) is None


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be kept"):
        CellFolder(tmp_path / "file").write("mamba", 0, {"top1": 1.0})
    with pytest.raises(UserError, match="cannot be kept"), CellFolder(tmp_path / "file").claim("mamba", 0):
        pass


def test_the_digest_follows_settings_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_PACKAGE", tmp_path)
    room = tmp_path / "room"
    room.mkdir()
    code = room / "model.py"

    def digest(text: str, epochs: int = 5) -> str:
        code.write_text(text, encoding="utf-8")
        return digest_of({"offline": replace(OfflineConfig(), epochs=epochs)}, ("room",))

    before = digest('"""A model."""\nX = 1\n"""Of it."""\n')
    assert digest('"""Said better."""\n# why\nX = 1\n"""Of the model."""\n') == before
    assert digest("X = 1\n") == before
    assert digest('"""A model."""\nX = 2\n') != before
    assert digest('"""A model."""\nX = 1\n', epochs=6) != before
