"""How quantities are written for people: three digits that matter, and a unit."""

from __future__ import annotations

from app.translation import tr

_LATENCY_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def digits(value: float) -> str:
    """Three significant digits without an exponent: 0.0123, 1.23, 12.3, 1,234."""
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:,.0f}"
    if magnitude >= 9.995:
        return f"{value:.1f}"
    if magnitude >= 0.9995 or magnitude == 0.0:
        return f"{value:.2f}"
    return f"{value:#.3g}" if magnitude >= 1e-4 else f"{value:.2e}"


def latency(seconds: float | None) -> str:
    """A latency in the unit that suits it: "1.50 ms", "92.0 µs"; a dash for None."""
    if seconds is None:
        return "–"
    for scale, unit in _LATENCY_UNITS:
        if seconds >= scale:
            return f"{digits(seconds / scale)} {unit}"
    return tr("{seconds} ns", seconds=digits(seconds * 1000000000.0))


def percent(share: float, decimals: int = 0) -> str:
    """A share as the terminal and the report write it: "30 %", with a decimal "29.7 %"."""
    return f"{100.0 * share:.{decimals}f} %"


def trials(count: int) -> str:
    """A number of trials: "1 trial", "1,288 trials"."""
    return tr("1 trial") if count == 1 else tr("{count:,} trials", count=count)


def candidates(count: int) -> str:
    """A number of candidates: "1 candidate", "1,288 candidates"."""
    return tr("1 candidate") if count == 1 else tr("{count:,} candidates", count=count)


def tasks(count: int) -> str:
    """A number of tasks: "1 task", "1,288 tasks"."""
    return tr("1 task") if count == 1 else tr("{count:,} tasks", count=count)


def records(count: int) -> str:
    """A number of records: "1 record", "1,288 records"."""
    return tr("1 record") if count == 1 else tr("{count:,} records", count=count)


def scored_records(count: int) -> str:
    """A number of records with a score: "1 scored record", "1,288 scored records"."""
    return tr("1 scored record") if count == 1 else tr("{count:,} scored records", count=count)


def calls(count: int) -> str:
    """A number of calls in a network: "1 call", "1,288 calls"."""
    return tr("1 call") if count == 1 else tr("{count:,} calls", count=count)


def clock(seconds: float) -> str:
    """A span of time: "0:07", "12:30", "1:02:03"."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clock_range(low_s: float, high_s: float) -> str:
    """A range of time left: "1:10 to 2:40", or one value where both are written the same."""
    low, high = clock(low_s), clock(high_s)
    return low if low == high else tr("{low} to {high}", low=low, high=high)


def flop(value: float) -> str:
    """Floating point operations: "12.3 MFLOP"."""
    for scale, unit in ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP")):
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return tr("{value:.0f} FLOP", value=value)
