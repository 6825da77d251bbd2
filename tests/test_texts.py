"""Every text of the window can be translated: it is marked, it can be collected, its values have places."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import translations

ROOT = Path(__file__).parents[1]
# They show nothing: style sheet, regular expressions, benches and pictures, which a developer reads.
SILENT = {
    "code_colours.py",
    "passing_studio.py",
    "plot_picture.py",
    "recording.py",
    "screenshots.py",
    "soak.py",
    "soak_bench.py",
    "style_sheet.py",
    "what_if_bench.py",
    "window_bench.py",
}
SOURCES = [path for path in sorted(ROOT.glob("app/**/*.py")) if path.name not in SILENT]
MARKS = {"tr", "later"}
SETTERS = {
    *("setText", "setToolTip", "setStatusTip", "setPlaceholderText", "setSpecialValueText", "setInformativeText"),
    *("setAccessibleName", "setAccessibleDescription", "setWindowTitle", "setTabText", "setTabToolTip", "setLabel"),
    *("setHorizontalHeaderLabels", "addAction", "addMenu", "addItem", "addItems", "addTab", "addButton", "showMessage"),
    *("QLabel", "QPushButton", "QToolButton", "QAction", "QMenu", "QToolBar", "QCheckBox", "QMessageBox"),
    *("getOpenFileName", "getSaveFileName", "getExistingDirectory", "ask_where_to_save"),
    *("label", "show_hint", "add_page", "EmptyState", "CopyTable", "PlotCard", "Column", "Announcement"),
}
# Parts of a call that are names and no texts: an icon, an axis, a role in the style sheet, a file's ending.
NAMES = {"EmptyState": {0}, "setLabel": {0}, "label": {1}, "ask_where_to_save": {4}}
NAMING_CALLS = {"setObjectName", "strftime", "setStyle", "setApplicationDisplayName"}
SAME_IN_ALL_LANGUAGES = {
    *("TCL Studio", "R", "D", "U", "Top-1", "Top-5", "KB", "MFLOP", "FLOP/byte", "GFLOP/s", "untuned TVM"),
    *("no expected gain", "task trials", "tool bar", "engine thread", "rank correlation"),
    *("candidates scored", "network estimate", "resumed records"),
}
WORD = re.compile(r"[A-Za-zµ]{2,}")
UNIT = re.compile(r"\W*(ns|s|ms|µs|FLOP|GFLOP|MB|×)?\W*")


def called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def written(node: ast.AST) -> str | None:
    """The fixed part of a string, None for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def unmarked(node: ast.AST) -> Iterator[ast.AST]:
    """The strings in an expression, those in calls of their own left out."""
    if written(node) is not None:
        yield node
    elif isinstance(node, ast.IfExp):
        yield from unmarked(node.body)
        yield from unmarked(node.orelse)
    elif isinstance(node, ast.BoolOp | ast.List | ast.Tuple):
        for part in getattr(node, "values", None) or getattr(node, "elts", ()):
            yield from unmarked(part)
    elif isinstance(node, ast.BinOp):
        yield from unmarked(node.left)
        yield from unmarked(node.right)
    elif isinstance(node, ast.Lambda):
        yield from unmarked(node.body)


def shown(node: ast.AST) -> bool:
    text = written(node) or ""
    return bool(WORD.search(text)) and not UNIT.fullmatch(text) and text not in SAME_IN_ALL_LANGUAGES


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} {written(node)!r}"


def test_texts_given_to_widgets_are_marked() -> None:
    found = []
    for path in SOURCES:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or called(call) not in SETTERS:
                continue
            given = [part for number, part in enumerate(call.args) if number not in NAMES.get(called(call), ())]
            given += [keyword.value for keyword in call.keywords]
            found += [place(path, text) for part in given for text in unmarked(part) if shown(text)]
    assert not found


def sentences(tree: ast.Module) -> Iterator[ast.AST]:
    """Strings with words and spaces that are neither marked nor read by the program alone."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
            return  # values; those that are shown are marked where they are
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and called(node) in MARKS | NAMING_CALLS):
            for part in getattr(node, "keywords", ()):
                yield from walk(part)
            return
        if isinstance(node, ast.Subscript):
            yield from walk(node.value)
            return
        text = written(node)
        if text is not None and " " in text.strip() and WORD.search(text):
            yield node
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
                yield from walk(child)

    return walk(tree)


def test_sentences_are_marked() -> None:
    found = [
        place(path, node)
        for path in SOURCES
        for node in sentences(ast.parse(path.read_text(encoding="utf-8")))
        if shown(node)
    ]
    assert not found


def marked() -> Iterator[tuple[Path, ast.Call]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS:
                yield path, node


def test_a_mark_holds_a_literal_whose_places_have_values() -> None:
    broken = []
    for path, call in marked():
        text, values = written(call.args[0]), {keyword.arg for keyword in call.keywords}
        if isinstance(call.args[0], ast.JoinedStr) or len(call.args) != 1:
            broken.append(f"{path.name}:{call.lineno} no literal")
        elif (
            text is not None
            and values != {name for _, name, _, _ in string.Formatter().parse(text) if name}
            and (called(call) == "tr")
        ):
            broken.append(place(path, call.args[0]))
    assert not broken


def test_all_marked_texts_are_collected(tmp_path: Path) -> None:
    translations.collect(tmp_path / "studio_xx.ts", SOURCES)
    contexts = {
        str(context.findtext("name")): {message.findtext("source") for message in context.iter("message")}
        for context in ElementTree.parse(tmp_path / "studio_xx.ts").iter("context")
    }
    texts = {written(call.args[0]) for _, call in marked()} - {None}
    assert len(texts) > 400
    assert contexts == {"": texts}


def test_translations_keep_the_places_of_values() -> None:
    def places(text: str | None) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(text or "") if name}

    broken = [
        (path.name, message.findtext("source"))
        for path in (ROOT / "resources" / "translations").glob("*.ts")
        for message in ElementTree.parse(path).iter("message")
        if message.findtext("translation")
        and places(message.findtext("source")) < places(message.findtext("translation"))
    ]
    assert not broken


def test_shares_are_written_in_one_way():
    """As in "29.7 %", by `quantities.percent`."""
    lines = [(path, line) for path in SOURCES for line in path.read_text(encoding="utf-8").splitlines()]
    assert not [(path.name, line) for path, line in lines if re.search(r":\.\d%|\d%[\"' ]", line)]


def test_ratios_are_written_in_one_way():
    """As in "1.50× as fast"; terminal and files, which are not of the window, have an x."""
    lines = [(path, line) for path in SOURCES for line in path.read_text(encoding="utf-8").splitlines()]
    assert not [(path.name, line) for path, line in lines if re.search(r"\dx as |\}x\b|\bx\{", line)]
