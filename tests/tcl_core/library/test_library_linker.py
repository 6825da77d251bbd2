from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tcl_core.errors import UserError
from tcl_core.library import linker
from tcl_core.library.linker import Linker, find_linker, require_linker


def test_compilers_are_taken_in_order() -> None:
    present = {"clang": "/opt/clang", "gcc": "/opt/gcc"}
    assert find_linker(present.get, lambda: None) == Linker(("/opt/gcc",))


def test_the_packaged_compiler_is_the_last_resort() -> None:
    assert find_linker(lambda _: None, lambda: "/wheel/zig") == Linker(("/wheel/zig", "cc"))
    assert find_linker(lambda _: None, lambda: None) is None


def test_without_any_the_sentence_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker, "find_linker", lambda: None)
    with pytest.raises(UserError, match=r"gcc or clang.*pip install ziglang") as caught:
        require_linker()
    assert caught.value.stage == "library"


def test_the_wheel_is_found_beside_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    binary = package / ("zig.exe" if sys.platform == "win32" else "zig")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_linker(lambda _: None) is None
    binary.touch()
    assert find_linker(lambda _: None) == Linker((str(binary), "cc"))


def test_a_failing_linker_says_its_last_line() -> None:
    script = "import sys; sys.exit('first\\nno space left.')"
    failing = Linker((sys.executable, "-c", script))
    with pytest.raises(UserError, match=r"failed \(no space left\)"):
        failing("out.so", ["a.o"])


def test_a_linker_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did not run"):
        Linker((str(tmp_path / "gone"),))("out.so", ["a.o"])
