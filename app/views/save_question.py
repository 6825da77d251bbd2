"""Asks a person for the file to write, with the ending that belongs to it; nothing is replaced unasked."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from app.translation import tr


def ask_where_to_save(
    window: QWidget, question: str, proposal: Path, kinds: str, ending: str, *, guarded: bool = False
) -> Path | None:
    """The file to write; None when the question is cancelled.

    The ending is added here and not by the dialog: some desktops' own dialogs look for the name as it was typed and
    add the ending afterwards.

    Args:
        kinds: the dialog's filter.
        ending: with its dot; a name with any other gets it besides.
        guarded: whoever writes refuses to replace a file, with a sentence; asking here would promise otherwise.
    """
    option = QFileDialog.Option.DontConfirmOverwrite if guarded else QFileDialog.Option(0)
    while True:
        chosen, _ = QFileDialog.getSaveFileName(window, question, str(proposal), kinds, "", option)
        if not chosen:
            return None
        path = Path(chosen)
        if path.suffix.lower() == ending:
            return path  # the dialog has asked about this name
        path = path.with_name(path.name + ending)
        if guarded or not path.exists() or _may_replace(window, path):
            return path
        proposal = path


def _may_replace(window: QWidget, path: Path) -> bool:
    question = QMessageBox(
        QMessageBox.Icon.Warning,
        tr("The file exists"),
        tr("{name} exists already. Replace it?", name=path.name),
        parent=window,
    )
    question.setInformativeText(tr("It lies in {folder}; what it holds would be lost.", folder=path.parent))
    replace = question.addButton(tr("Replace"), QMessageBox.ButtonRole.AcceptRole)
    keep = question.addButton(tr("Choose another name"), QMessageBox.ButtonRole.RejectRole)
    question.setDefaultButton(keep)
    question.exec()
    replaces = question.clickedButton() is replace
    question.deleteLater()
    return replaces
