"""The commands of the hearth-compiler-daemon wheel, and where they lie."""

import os
import shutil
import signal
import sys


def find_program(name):
    """The path of hearth or hearthd: of the wheel, of a build tree, beside HEARTH_DAEMON, or on PATH; None: it is not here."""
    package = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(package, "bin"), os.path.normpath(os.path.join(package, "..", "..", "bin"))]
    if os.path.isabs(os.environ.get("HEARTH_DAEMON", "")):
        folders.append(os.path.dirname(os.environ["HEARTH_DAEMON"]))
    for folder in folders:
        program = os.path.join(folder, name)
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return shutil.which(name)


def _run(name):
    program = find_program(name)
    if program is None:
        sys.exit(f"{name} is not installed here: pip install hearth-compiler-daemon")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it: hearth inspect m | head
    os.execv(program, [name, *sys.argv[1:]])


def main():
    if sys.argv[1:2] == ["prewarm"] and any(_is_function(word) for word in sys.argv[2:]):
        from ._prewarm import main as prewarm

        sys.exit(prewarm(sys.argv[2:]))
    _run("hearth")


def _is_function(word):
    """MODULE:FUNCTION, and no file."""
    module, colon, function = word.partition(":")
    names = [*module.split("."), *function.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names) and not os.path.exists(word)


def daemon():
    _run("hearthd")
