"""The style sheet on top of Fusion, filled in from the colour tokens."""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from app.tokens import Tokens

_TEMPLATE = Template("""
QPushButton, QToolButton, QMenu { icon-size: ${icon}px; }
QMainWindow::separator { background: $window; width: 6px; height: 6px; }
QMainWindow::separator:hover { background: $accent; }
QDockWidget { color: $text; font-weight: 600; }
QDockWidget::title { background: $window; padding: 6px 8px; }
QToolBar { background: $window; border: none; border-bottom: 1px solid $border; spacing: 4px; padding: 2px 6px;
    icon-size: ${bar_icon}px; }
QToolBar QToolButton { padding: 4px 8px; border-radius: 5px; border: 1px solid transparent; }
QToolBar QToolButton:hover { background: $raised; border-color: $border; }
QToolBar QToolButton:disabled { color: $disabled; }
QStatusBar { background: $window; color: $muted; border-top: 1px solid $border; }
QStatusBar::item { border: none; }
QMenuBar { background: $window; }
QMenuBar::item { padding: 4px 10px; background: transparent; }
QMenuBar::item:selected { background: $raised; border-radius: 4px; }
QMenu { background: $surface; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 26px 5px 22px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: $muted; padding: 6px 13px 7px 13px;
    border: 1px solid transparent; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:hover:!selected { color: $text; }
QTabBar::tab:focus { border-color: $accent; }
QFrame#card { background: $surface; border: 1px solid $border; border-radius: 7px; }
QFrame#banner { background: $surface; border: 1px solid $border; border-left: 4px solid $muted; border-radius: 5px; }
QFrame#banner[mood="bad"] { border-left-color: $bad; }
QFrame#banner[mood="warn"] { border-left-color: $warn; }
QFrame#banner[mood="good"] { border-left-color: $good; }
QFrame#banner QToolButton { background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 2px; }
QFrame#banner QToolButton:hover { background: $raised; border-color: $border; }
QFrame#banner QToolButton:focus { border-color: $accent; }
QFrame#line { background: $border; border: none; max-height: 1px; min-height: 1px; }
QLabel#title { font-size: ${title}px; font-weight: 600; }
QLabel#headline { font-size: ${headline}px; font-weight: 600; }
QLabel#section { font-weight: 600; }
QLabel#muted { color: $muted; }
QLabel#warn { color: $warn; }
QLabel#figure { font-size: ${figure}px; font-weight: 600; }
QTableView, QTreeView, QPlainTextEdit, QListView { background: $surface; border: 1px solid $border; border-radius: 5px;
    selection-background-color: $selection; selection-color: $text; gridline-color: $border; }
QTableView, QTreeView { outline: none; }
QTableView::item, QTreeView::item { padding: 3px 6px; border: none; }
QTableView::item:selected, QTreeView::item:selected { background: $selection; color: $text; }
QGraphicsView#graph { border: 1px solid $surface; }
QTableView:focus, QTreeView:focus, QListView:focus, QPlainTextEdit:focus, QGraphicsView#graph:focus {
    border-color: $accent; }
QHeaderView { background: $surface; border: none; }
QHeaderView::section { background: $surface; color: $muted; padding: 5px 8px; border: none;
    border-bottom: 1px solid $border; }
QHeaderView::section:hover { color: $text; }
QHeaderView::up-arrow { image: url(icons:chevron-up.svg); width: ${step}px; height: ${step}px;
    subcontrol-position: top center; }
QHeaderView::down-arrow { image: url(icons:chevron-down.svg); width: ${step}px; height: ${step}px;
    subcontrol-position: top center; }
QPushButton { background: $raised; border: 1px solid $border; border-radius: 5px; padding: 6px 14px; }
QPushButton:hover { border-color: $accent; }
QPushButton:pressed { background: $selection; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $disabled; background: $window; border-color: $border; }
QPushButton#primary { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton#primary:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton#primary:focus { border-color: $text; }
QPushButton#primary:disabled { background: $raised; color: $disabled; border-color: $border; }
QPushButton#narrow { padding: 6px 8px; }
QPushButton#link { background: transparent; border: 1px solid transparent; text-align: left; padding: 5px 8px; }
QPushButton#link:hover, QPushButton#link:focus { background: $raised; border-color: $border; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: $surface; border: 1px solid $border; border-radius: 5px;
    padding: 4px 7px; min-height: ${field}px; selection-background-color: $selection; selection-color: $text; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border-color: $accent; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: $disabled;
    background: $window; }
QAbstractSpinBox QLineEdit { border: none; background: transparent; padding: 0; min-height: ${inner}px; }
QComboBox { padding-right: 4px; }
QComboBox::drop-down { border: none; width: ${field}px; }
QComboBox::down-arrow { image: url(icons:chevron-down.svg); width: ${arrow}px; height: ${arrow}px; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border; selection-background-color: $selection;
    selection-color: $text; outline: none; }
QSpinBox::up-button, QDoubleSpinBox::up-button { border: none; background: transparent; width: ${field}px;
    subcontrol-position: top right; }
QSpinBox::down-button, QDoubleSpinBox::down-button { border: none; background: transparent; width: ${field}px;
    subcontrol-position: bottom right; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(icons:chevron-up.svg); width: ${step}px; height: ${step}px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(icons:chevron-down.svg);
    width: ${step}px; height: ${step}px; }
QDoubleSpinBox#weight { padding: 4px 0px; }
QDoubleSpinBox#weight::up-button, QDoubleSpinBox#weight::down-button { width: 0px; }
QDoubleSpinBox#weight::up-arrow, QDoubleSpinBox#weight::down-arrow { image: none; width: 0px; height: 0px; }
QCheckBox::indicator, QTableView::indicator { width: ${tick}px; height: ${tick}px;
    border: 1px solid $muted; border-radius: 3px; background: $surface; }
QCheckBox::indicator:checked, QTableView::indicator:checked { image: url(icons:checked.svg);
    background: $accent; border-color: $accent; }
QCheckBox::indicator:focus { border-color: $accent; }
QCheckBox::indicator:disabled { border-color: $disabled; }
QToolButton#browse { background: $raised; border: 1px solid $border; border-radius: 5px; padding: 5px; }
QToolButton#browse:hover, QToolButton#browse:focus { border-color: $accent; }
QToolButton#plotmenu { background: $surface; border: 1px solid $border; border-radius: 5px; padding: 6px; }
QToolButton#plotmenu:hover, QToolButton#plotmenu:focus { border-color: $accent; }
QToolButton#plotmenu::menu-indicator { image: none; width: 0; }
QLabel#hovercard { background: $raised; color: $text; border: 1px solid $border; border-radius: 5px; padding: 5px 8px; }
QFrame#card QTabBar::tab { padding: 5px 9px 6px 9px; }
QToolButton#browse:checked { background: $selection; border-color: $accent; }
QToolButton#browse:checked:focus { border-color: $text; }
QProgressBar { background: $border; border: none; border-radius: 4px; min-height: 8px; max-height: 8px; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QToolTip { background: $raised; color: $text; border: 1px solid $border; padding: 4px; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: 4px; min-height: 28px; min-width: 28px; margin: 2px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: transparent; }
""")


_TEXT_PX = {"title": 22, "headline": 15, "figure": 17}
_BESIDE_TEXT_PX = {"icon": 16, "bar_icon": 18, "field": 20, "inner": 18, "tick": 14, "arrow": 11, "step": 9}


def style_sheet(tokens: Tokens, scale: float = 1.0) -> str:
    """The application's style sheet in these colours; `scale` as of `text_scale`."""
    sizes = {role: round(size * scale) for role, size in (_TEXT_PX | _BESIDE_TEXT_PX).items()}
    return _TEMPLATE.substitute(asdict(tokens), **sizes)
