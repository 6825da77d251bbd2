"""What pip's output means, which torch is taken, and what is dropped after a broken installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pip_install
import pytest


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "is full"),
        ("ERROR: Could not install packages: [Errno 13] Permission denied: '/x/lib'", "cannot be written"),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n"
            "ERROR: No matching distribution found for x==1",
            "registry cannot be reached",
        ),
        ("ERROR: No matching distribution found for apache-tvm==0.27", "no build of apache-tvm==0.27 for Python"),
        ("ssl.SSLError: CERTIFICATE_VERIFY_FAILED", "certificate is not trusted"),
        (
            "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool(host='files', port=443): Max "
            "retries exceeded with url: /x.whl (Caused by SSLError(SSLCertVerificationError(1, "
            "'[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)')))",
            "certificate is not trusted",
        ),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError(SSLEOFError(8, 'EOF occurred in "
            "violation of protocol (_ssl.c:1006)'))': /simple/x/",
            "registry cannot be reached",
        ),
        ("ERROR: first\nERROR: something new", "pip failed with status 3: something new"),
        ("", "it gave no reason"),
    ],
)
def test_what_pip_said_becomes_one_sentence(tmp_path, output, sentence):
    told = pip_install.explain(3, output, tmp_path / "not" / "there")

    assert sentence in told
    assert "\n" not in told


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PyPI has the CPU build")
@pytest.mark.parametrize(
    ("here", "far", "arguments"),
    [
        (["2.13.0+cpu"], [], ["--no-deps", "torch==2.13.0+cpu"]),
        (
            ["2.13.0"],
            ["2.13.0+cpu"],
            ["--no-deps", "torch==2.13.0+cpu", "--extra-index-url", pip_install.TORCH_CPU_INDEX],
        ),
        (["2.13.0"], ["2.13.0"], ["torch==2.13.0"]),
        ([], [], ["torch==2.13.0"]),
    ],
)
def test_the_cpu_build_of_torch_is_preferred(monkeypatch, here, far, arguments):
    monkeypatch.setattr(pip_install, "_offered", lambda python, extra: far if extra else here)

    assert pip_install._torch_arguments(Path("python"), "torch==2.13.0") == arguments


@pytest.mark.parametrize(
    ("lines", "versions"),
    [
        ("torch (2.13.0+cpu)\nAvailable versions: 2.13.0+cpu, 2.12.1\n  INSTALLED: 2.12.1\n", ["2.13.0+cpu", "2.12.1"]),
        ("", []),
        (None, []),
    ],
    ids=["told", "not found", "out of reach"],
)
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_what_an_index_offers_is_asked_impatiently(tmp_path, monkeypatch, lines, versions):
    """A host that is out of reach costs seconds."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n" + ("exec sleep 60" if lines is None else f"printf '{lines}'; exit 3") + "\n")
    python.chmod(0o755)
    monkeypatch.setattr(pip_install, "PROBE_SECONDS", 0.2 if lines is None else 30)
    assert pip_install._offered(python, []) == versions


def install_package(site: Path, name: str, record: str | None, **files: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    for file, text in files.items():
        (site / f"{file}.py").write_text(text)
    if record is not None:
        (info / "RECORD").write_text(record)


def test_only_whole_packages_are_kept(tmp_path):
    install_package(tmp_path, "whole", "a.py,sha256=x,3\n../../bin/a,,\nwhole-1.0.dist-info/RECORD,,\n", a="1+1")
    install_package(tmp_path, "cut", "b.py,sha256=x,3\n", b="1")
    install_package(tmp_path, "gone", "c.py,sha256=x,3\n")
    install_package(tmp_path, "unrecorded", None, d="1")
    install_package(tmp_path, "emptied", "")
    (tmp_path / "~orch").mkdir()

    dropped = pip_install.drop_half_installed(tmp_path)

    assert dropped == ["cut-1.0", "emptied-1.0", "gone-1.0", "unrecorded-1.0"]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["whole-1.0.dist-info"]
