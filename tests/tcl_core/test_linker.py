from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tcl_core import linker
from tcl_core.errors import UserError
from tcl_core.linker import Linker, find_linker, require_linker, triple_of


def test_compilers_are_taken_in_order() -> None:
    present = {"clang": "/opt/clang", "gcc": "/opt/gcc"}
    assert find_linker("", present.get, lambda: None) == Linker(("/opt/gcc",))


def test_the_packaged_compiler_is_the_last_resort() -> None:
    assert find_linker("", lambda _: None, lambda: "/wheel/zig") == Linker(("/wheel/zig", "cc"))
    assert find_linker("", lambda _: None, lambda: None) is None


def test_without_any_the_sentence_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker, "find_linker", lambda triple: None)
    with pytest.raises(UserError, match=r"gcc or clang.*pip install ziglang") as caught:
        require_linker()
    assert caught.value.stage == "library"


def test_the_wheel_is_found_beside_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    binary = package / ("zig.exe" if sys.platform == "win32" else "zig")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_linker("", lambda _: None) is None
    binary.touch()
    assert find_linker("", lambda _: None) == Linker((str(binary), "cc"))


def test_a_failing_linker_says_its_last_line() -> None:
    script = "import sys; sys.exit('first\\nno space left.')"
    failing = Linker((sys.executable, "-c", script))
    with pytest.raises(UserError, match=r"failed \(no space left\)"):
        failing("out.so", ["a.o"])


def test_a_linker_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did not run"):
        Linker((str(tmp_path / "gone"),))("out.so", ["a.o"])


def test_code_for_another_architecture_has_compilers_of_its_own() -> None:
    triple = "aarch64-linux-gnu"
    present = {f"{triple}-gcc": "/opt/cross", "gcc": "/usr/bin/gcc"}
    assert find_linker(triple, present.get, lambda: None) == Linker(("/opt/cross",))
    assert find_linker(triple, {"gcc": "/usr/bin/gcc"}.get, lambda: None) is None, "gcc links for this machine"
    packaged = find_linker(triple, lambda _: None, lambda: "/wheel/zig")
    assert packaged == Linker(("/wheel/zig", "cc", "-target", triple))


def test_a_missing_compiler_for_another_architecture_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker, "find_linker", lambda triple: None)
    with pytest.raises(UserError, match=r"install aarch64-linux-gnu-gcc .*apt install gcc-aarch64-linux-gnu"):
        require_linker("aarch64-linux-gnu")


def test_only_another_architecture_has_a_triple(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker.platform, "machine", lambda: "x86_64")
    assert triple_of('{"kind": "llvm"}') == ""
    assert triple_of('{"kind": "llvm", "mtriple": "x86_64-linux-gnu"}') == ""
    assert triple_of('{"kind": "llvm", "mtriple": "aarch64-linux-gnu"}') == "aarch64-linux-gnu"
