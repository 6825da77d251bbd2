"""A field for the minutes of a run, exact enough for a run of seconds, without the noughts of its decimals."""

from __future__ import annotations

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QDoubleSpinBox

from app.translation import tr

_DECIMALS = 4
_LEAST = 10.0**-_DECIMALS
"""Six milliseconds. What is less than half of it would be rounded to 0, which stands for no limit."""


class MinutesBox(QDoubleSpinBox):
    """0 stands for no limit."""

    def __init__(self) -> None:
        super().__init__()
        self.setRange(0.0, 100_000.0)
        self.setDecimals(_DECIMALS)
        self.setSpecialValueText(tr("no limit"))
        self.setToolTip(tr("The run stops after so many minutes; 0 for no limit"))

    def textFromValue(self, value: float) -> str:  # noqa: N802  Qt's name
        locale = self.locale()
        locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
        return locale.toString(value, "f", QLocale.FloatingPointPrecisionOption.FloatingPointShortest.value)

    @property
    def minutes(self) -> float | None:
        """None for no limit."""
        return self.value() or None

    def set_minutes(self, minutes: float | None) -> None:
        """Show a limit; None for none."""
        self.setValue(0.0 if minutes is None else max(minutes, _LEAST))
