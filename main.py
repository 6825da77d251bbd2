"""The front door of TCL Studio: no arguments open the studio, a subcommand works in the terminal.

In a checkout it first sees to the packages (`packaging/bootstrap.py`); installed by pip they are there already. The
syntax stays that of old Pythons, type comments included, so that each of them can say that it is too old.
"""

import gc
import os
import sys

MYPY = False
if MYPY:
    from collections.abc import Sequence  # noqa: F401 - type comments, which ruff does not read
    from types import ModuleType  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))


def main(argv=None):
    # type: (Sequence[str] | None) -> int
    """Run TCL Studio; the status is 0 done, 1 a bug, 2 bad input or a machine that lacks something, 3 verified not to
    match, 130 interrupted.
    """
    if sys.stderr is None:
        # The process was started with it closed (`2>&-`): whatever is said would be an error, and end with status 1.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end of the process
    if sys.version_info < (3, 11):
        sys.stderr.write(
            "TCL Studio needs Python 3.11 or newer, and this is Python %d.%d (%s): start it with a newer one.\n"
            % (sys.version_info[0], sys.version_info[1], sys.executable)
        )
        return 2
    # OpenMP's waiting threads spin by default: on shared cores that costs up to 80x (measured), in every process.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # OpenBLAS has no such setting: NumPy's threads spin for 100 ms after each product, of which a search makes small
    # ones, and the kernel that is timed next took 4 ms, a scheduler's tick, instead of 6 us (measured on two cores).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Since 1.29 onnxruntime tells its maker of every network that is opened, by file name and digest, unless this is
    # set before it is loaded (its pull request 27379): nobody asked for that.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output left (`... | head`). Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Exception as error:  # noqa: BLE001 - the last catch: a person gets one line, the traceback goes to a log
        return _explain(error)


def _dispatch(arguments):
    # type: (list[str]) -> int
    """See to the system and the packages, then hand the arguments to whom they are for."""
    command, bootstrap = arguments, None
    if os.path.isfile(os.path.join(HERE, "packaging", "bootstrap.py")):
        bootstrap = _load("bootstrap")
    try:
        if bootstrap:
            command = bootstrap.split_folder(arguments)[1]
        # Before the packages: nobody should wait for a download to hear that there is no display.
        lacking = _lacking(command)
        if lacking:
            return _refuse(lacking)
        if bootstrap:
            bootstrap.prepare(HERE, arguments)
    except getattr(bootstrap, "SetupError", ()) as error:
        return _refuse(str(error))
    return _run(command)


def _lacking(command):
    # type: (list[str]) -> str | None
    """What this system lacks for a command, in one sentence."""
    if command and command[0] != "test":
        return None
    from tcl_core.hardware import display

    if command:
        return display.library_problem(window=False)
    no_display = display.display_problem(os.environ)
    return no_display or display.library_problem(window=display.needs_xcb(os.environ))


def _run(command):
    # type: (list[str]) -> int
    if not command:
        # A tenth of the start: the collector would visit again and again what stays to the end. `show` turns it on.
        gc.disable()
        from app import application

        return int(application.main([]))
    if command[0] == "test":
        if not os.path.isfile(os.path.join(HERE, "packaging", "suite.py")):
            return _refuse("The installed package has no tests: run `python3 main.py test` in a checkout.")
        return int(_load("suite").run(HERE, command[1:]))
    from tcl_core import command_line

    # An eighth of the start, 0.5 s of 4: it would visit the half a million objects of torch and TVM again and again.
    gc.set_threshold(50000)
    return int(command_line.main(command))


def _load(name):
    # type: (str) -> ModuleType
    """Import a module of the folder `packaging`, which cannot be a package: one of that name is on PyPI and needed."""
    import importlib

    folder = os.path.join(HERE, "packaging")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def _refuse(sentence):
    # type: (str) -> int
    sys.stderr.write(sentence + "\n")
    return 2


def _explain(error):
    # type: (Exception) -> int
    """Say what a person can do about an error: an expected one is a sentence, any other the path of its log."""
    from tcl_core.errors import Interrupted, UserError

    if isinstance(error, Interrupted):
        return 130
    if isinstance(error, UserError):
        return _refuse(str(error))
    sys.stderr.write("This is a bug in TCL Studio (%s); its log is %s\n" % (type(error).__name__, _write_log(error)))
    return 1


def _write_log(error):
    # type: (Exception) -> str
    """Write the traceback where logs belong, else into the temporary folder; the path."""
    import tempfile
    import time
    import traceback

    try:
        import platformdirs

        folder = platformdirs.user_log_dir("tcl-studio", ensure_exists=True)
    except (ImportError, OSError):
        folder = tempfile.gettempdir()
    name = time.strftime("bug-%Y%m%d-%H%M%S-") + str(os.getpid()) + ".log"
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    for place in (folder, tempfile.gettempdir()):
        path = os.path.join(place, name)
        try:
            with open(path, "w", encoding="utf-8") as log:
                log.write("arguments: %r\n%s" % (sys.argv, text))
        except OSError:
            continue
        return path
    sys.stderr.write(text)
    return "above: no folder could be written"


if __name__ == "__main__":
    sys.exit(main())
