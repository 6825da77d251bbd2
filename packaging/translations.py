"""For translators: collect the window's texts into a file, and make of it what the studio loads.

``.venv/bin/python packaging/translations.py de`` writes or renews ``resources/translations/studio_de.ts``; translate it
in any editor for .ts files, such as Qt Linguist, and run the same again: ``studio_de.qm`` is written beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import PySide6

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "resources" / "translations"
_TOOLS = Path(PySide6.__file__).parent
# `later` marks a text as Qt's own marker does.
_COLLECT = ("-tr-function-alias", "QT_TR_NOOP+=later", "-locations", "none", "-no-obsolete", "-silent")


def collect(out: Path, sources: Sequence[Path]) -> None:
    """Write all marked texts into a .ts file; what is translated there stays. Raises: CalledProcessError."""
    command = [str(_TOOLS / "lupdate"), *_COLLECT, *map(str, sources), "-ts", str(out)]
    subprocess.run(command, check=True, capture_output=True)


def release(translated: Path, out: Path) -> None:
    """Make the .qm file of a .ts file. Raises: CalledProcessError."""
    subprocess.run([str(_TOOLS / "lrelease"), "-silent", str(translated), "-qm", str(out)], check=True)


def main(argv: Sequence[str]) -> int:
    """Renew the files of one language."""
    parser = argparse.ArgumentParser(description="renew the translation of the window's texts into a language")
    parser.add_argument("language", help="such as de or pt_BR")
    language = parser.parse_args(argv).language
    FOLDER.mkdir(exist_ok=True)
    translated = FOLDER / f"studio_{language}.ts"
    collect(translated, sorted(ROOT.glob("app/**/*.py")))
    release(translated, translated.with_suffix(".qm"))
    sys.stdout.write(f"{translated}\n{translated.with_suffix('.qm')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
