"""The commands of the hearth-compiler-daemon wheel."""

import os
import shutil
import signal
import sys


def _run(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if not os.path.exists(program):
        program = shutil.which(name)
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
