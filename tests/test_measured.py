"""What the README and `measured.md` say of many networks is what the table of them holds."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SET = re.compile(
    r"^\| (?P<name>\w+): .* \| (?P<count>\d+) \| (?P<verdicts>\d+, \d+, \d+) \| "
    r"(?P<median>[\d.]+)x \((?P<least>[\d.]+) - (?P<most>[\d.]+)\) \|$",
    re.MULTILINE,
)


def networks() -> list[dict[str, str]]:
    with (ROOT / "resources/networks.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def times_as_fast(row: dict[str, str]) -> float:
    """As the comparison gave it; a tie has an interval alone, so that of its medians."""
    return float(row["times_as_fast"] or float(row["onnxruntime_ms"]) / float(row["tuned_ms"]))


def test_a_verdict_is_what_its_interval_says():
    for row in networks():
        low, high = float(row["times_low"]), float(row["times_high"])
        verdict = "faster" if low >= 1 else "slower" if high <= 1 else "tie"
        assert row["verdict"] == verdict, row


def test_the_readme_counts_the_networks_of_the_table():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    rows = networks()
    verdicts = Counter(row["verdict"] for row in rows)

    assert f"Of {len(rows)} comparisons with other networks" in readme
    assert f"{verdicts['faster']} were faster than onnxruntime (up to {max(map(times_as_fast, rows)):.1f}x)" in readme
    assert f"{verdicts['tie']} a tie, {verdicts['slower']} slower" in readme


def test_every_set_is_summed_up_as_its_rows_are():
    rows = networks()
    told = {found["name"]: found for found in SET.finditer((ROOT / "resources/measured.md").read_text("utf-8"))}

    assert set(told) == {row["set"] for row in rows}
    for name, line in told.items():
        members = [row for row in rows if row["set"] == name]
        verdicts = Counter(row["verdict"] for row in members)
        times = [times_as_fast(row) for row in members]
        assert int(line["count"]) == len(members), name
        assert line["verdicts"] == ", ".join(str(verdicts[verdict]) for verdict in ("faster", "tie", "slower")), name
        found = [f"{value:.2f}" for value in (median(times), min(times), max(times))]
        assert [line["median"], line["least"], line["most"]] == found, name
