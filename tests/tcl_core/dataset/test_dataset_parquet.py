"""The folder of Parquet files: everything comes back, damage is refused in one sentence, a full disk costs nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_samples import dataset, datasets, failed, measured, network, sketch, task
from hypothesis import given, settings

import tcl_core
from tcl_core.dataset import Dataset, content_digest, read_dataset, sealed, write_dataset
from tcl_core.dataset.lean import MESSAGE_LIMIT
from tcl_core.dataset.parquet import _write_tables
from tcl_core.dataset.schema import SCHEMAS, VERSION_KEY, file_name
from tcl_core.dataset.tables import to_tables
from tcl_core.domain import Candidate
from tcl_core.errors import UserError

TABLES = tuple(SCHEMAS)
GROUP = ("a1", "cafe01")


def refused(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_dataset(folder)
    assert caught.value.stage == "dataset"
    sentence = str(caught.value)
    assert str(folder) in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def write_unchecked(folder: Path, broken: Dataset) -> None:
    """As a program without our checks would: the digest is right, the content is not."""
    folder.mkdir()
    _write_tables(folder, to_tables(broken), content_digest(broken))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_dataset(tmp_path / "data", dataset())
    return tmp_path / "data"


@settings(max_examples=40)
@given(drawn=datasets())
def test_what_was_written_comes_back(tmp_path_factory: pytest.TempPathFactory, drawn: Dataset) -> None:
    folder = tmp_path_factory.mktemp("trip") / "data"
    write_dataset(folder, drawn)
    back = read_dataset(folder)
    assert back == drawn
    assert {group: list(records) for group, records in back.records.items()} == {
        group: list(records) for group, records in drawn.records.items()
    }
    assert back.digest == content_digest(back)
    assert sorted(path.name for path in folder.iterdir()) == sorted(file_name(name) for name in TABLES)
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    one = dataset(tasks={"a1": task(), "b2": task("b2")})
    other = dataset(tasks={"b2": task("b2"), "a1": task()})
    for name, each in (("one", one), ("other", other)):
        write_dataset(tmp_path / name, each)
    for table in TABLES:
        assert (tmp_path / "one" / file_name(table)).read_bytes() == (
            tmp_path / "other" / file_name(table)
        ).read_bytes()


def test_rows_in_another_order_are_the_same_dataset(folder: Path) -> None:
    before = read_dataset(folder)
    path = folder / file_name("records")
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(np.arange(len(table))[::-1])), path)
    after = read_dataset(folder)
    assert after == before
    assert after.digest == before.digest


def test_long_messages_are_cut_and_bytes_become_escapes(tmp_path: Path) -> None:
    full = dataset(records={GROUP: (measured(), failed(1, "\udcff" + "x" * 9999))})
    write_dataset(tmp_path / "data", full)
    back = read_dataset(tmp_path / "data")
    failure = back.records[GROUP][1].failure
    assert failure is not None
    assert failure.message == r"\udcff" + "x" * (MESSAGE_LIMIT - 6)
    assert back.digest == full.digest


def test_text_is_compressed_by_zstd_and_repetition_by_a_dictionary(folder: Path) -> None:
    for table in TABLES:
        column = pq.ParquetFile(folder / file_name(table)).metadata.row_group(0).column(0)
        assert column.compression == "ZSTD"
        assert "RLE_DICTIONARY" in column.encodings


def test_a_new_dataset_takes_the_place_of_the_old_and_leaves_other_files(folder: Path) -> None:
    (folder / "README.md").write_text("card")
    (folder / "notes").mkdir()
    newer = dataset(records={GROUP: (measured(64),)})
    write_dataset(folder, newer)
    assert read_dataset(folder) == newer
    assert (folder / "README.md").read_text() == "card"
    assert (folder / "notes").is_dir()
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


@pytest.mark.parametrize("moment", ["tables", "swap"])
def test_a_refused_write_leaves_the_old_dataset(folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    rename = Path.rename

    def rename_but_staging(path: Path, target: Path) -> Path:
        return full() or path if target == folder and not path.name.endswith("previous") else rename(path, target)

    if moment == "tables":
        monkeypatch.setattr(pq, "write_table", full)
    else:
        monkeypatch.setattr(Path, "rename", rename_but_staging)
    with pytest.raises(UserError, match=r"cannot be written \(No space left on device\)"):
        write_dataset(folder, dataset(records={GROUP: (measured(64),)}))
    monkeypatch.undo()
    assert read_dataset(folder) == dataset()
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


UNTIL_FULL = """
import resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from dataset_samples import dataset, task
from dataclasses import replace
import random
from tcl_core.dataset import read_dataset, write_dataset
from tcl_core.errors import UserError
folder = Path(sys.argv[1])
noise = random.Random(0).randbytes(1_600_000).hex()
before = read_dataset(folder)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_100_000, hard))  # beyond a trial file; Python ignores SIGXFSZ
try:
    write_dataset(folder, dataset(tasks={"a1": replace(task(), module_json=noise)}))
except UserError as error:
    assert "cannot be written" in str(error), error
    assert read_dataset(folder) == before
    sys.stdout.write("refused")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_write_that_the_system_refuses(folder: Path) -> None:
    paths = (str(Path(tcl_core.__file__).parents[1]), str(Path(__file__).parent))
    answer = subprocess.run(
        [sys.executable, "-c", UNTIL_FULL, str(folder), *paths], capture_output=True, text=True, check=False, timeout=60
    )
    assert (answer.stdout, answer.stderr) == ("refused", "")
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_file(folder: Path, table: str) -> None:
    (folder / file_name(table)).unlink()
    sentence = refused(folder)
    assert "There is no dataset" in sentence
    assert file_name(table) in sentence


def test_a_missing_folder(tmp_path: Path) -> None:
    assert "There is no dataset" in refused(tmp_path / "none")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_truncated(folder: Path, table: str, keep: float) -> None:
    path = folder / file_name(table)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    assert "not a whole Parquet file" in refused(folder)


@pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.9])
def test_changed_bytes_never_pass(folder: Path, place: float) -> None:
    path = folder / file_name("records")
    content = bytearray(path.read_bytes())
    for offset in range(24):
        content[int(len(content) * place) + offset] ^= 0xFF
    path.write_bytes(bytes(content))
    refused(folder)


def test_not_parquet(folder: Path) -> None:
    (folder / file_name("tasks")).write_text("key,name\n" * 99)
    assert "not a whole Parquet file" in refused(folder)


def rewritten(folder: Path, table: str, change: object) -> None:
    path = folder / file_name(table)
    pq.write_table(change(pq.read_table(path)), path)  # type: ignore[operator]


def test_another_schema_version(folder: Path) -> None:
    rewritten(folder, "sketches", lambda table: table.replace_schema_metadata({VERSION_KEY: b"99"}))
    assert "dataset schema 99 and this version reads" in refused(folder)


def test_a_foreign_parquet_file(folder: Path) -> None:
    pq.write_table(pa.table({"key": ["a"]}), folder / file_name("tasks"))
    assert "dataset schema none" in refused(folder)


def test_other_columns(folder: Path) -> None:
    rewritten(folder, "tasks", lambda table: table.drop_columns(["anchor"]))
    assert "other columns" in refused(folder)


def test_an_unknown_split(folder: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        field = table.schema.field("split")
        return table.set_column(table.column_names.index("split"), field, pa.array(["holdout"] * len(table)))

    rewritten(folder, "networks", change)
    assert "'holdout' is not a valid Split" in refused(folder)


def test_files_of_two_datasets(folder: Path, tmp_path: Path) -> None:
    write_dataset(tmp_path / "other", dataset(tasks={"a1": task(weight=9)}))
    (tmp_path / "other" / file_name("tasks")).replace(folder / file_name("tasks"))
    assert "do not belong together" in refused(folder)


BROKEN = {
    "names the task 'zz'": {"records": {("zz", "cafe01"): (measured(task_key="zz"),)}},
    "names the platform 'beef'": {"records": {("a1", "beef"): (measured(on="beef"),)}},
    "names the sketch 7": {"records": {GROUP: (measured(candidate=Candidate("a1", 7, ((1, 64),))),)}},
    "names the sketch -1": {"records": {GROUP: (measured(candidate=Candidate("a1", -1, ((1, 64),))),)}},
    "has 2 decisions": {"records": {GROUP: (measured(candidate=Candidate("a1", 0, ((1, 64), (1,)))),)}},
    "has two records": {"records": {GROUP: (measured(), measured())}},
    "neither latencies nor a failure": {"records": {GROUP: (measured(latencies_s=()),)}},
    "not a positive number": {"records": {GROUP: (measured(latencies_s=(0.0,)),)}},
    "not a positive number of seconds": {"records": {GROUP: (measured(repeated_s=(0.0,)),)}},
    "the network 'net' names the task 'zz'": {"networks": (network(weights=(("zz", 1),)),)},
    "is there 2 times": {"networks": (network(), network())},
    "are not numbered from 0": {"sketches": {GROUP: (sketch(index=1),)}, "records": {}},
    "a sketch names the task 'zz'": {"sketches": {("zz", "cafe01"): (sketch("zz"),)}, "records": {}},
}


@pytest.mark.parametrize("words", BROKEN)
def test_what_is_not_whole_is_neither_read_nor_written(tmp_path: Path, words: str) -> None:
    broken = dataset(**BROKEN[words])
    write_unchecked(tmp_path / "data", broken)
    assert words in refused(tmp_path / "data")
    with pytest.raises(UserError, match="is not whole"):
        write_dataset(tmp_path / "new", broken)
    assert not (tmp_path / "new").exists()


def test_the_digest_sees_every_part() -> None:
    whole = dataset()
    changed = [
        dataset(platforms={"cafe01": replace(whole.platforms["cafe01"], threads=4)}),
        dataset(networks=(network(source="elsewhere"),)),
        dataset(tasks={"a1": task(weight=9)}),
        dataset(sketches={GROUP: (sketch(block="other"),)}),
        dataset(records={GROUP: whole.records[GROUP][:2]}),
        dataset(records={GROUP: whole.records[GROUP][::-1]}),
    ]
    assert len({whole.digest, *(each.digest for each in changed)}) == len(changed) + 1
    assert sealed(replace(whole, digest="x")).digest == whole.digest


def test_a_file_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("kept")

    with pytest.raises(UserError, match=r"notes is no folder, so nothing can be written to .*notes; ") as caught:
        write_dataset(tmp_path / "notes", dataset())

    assert caught.value.stage == "dataset"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"notes": "kept"}
