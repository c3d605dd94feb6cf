"""The compile service that this process uses: whether it runs, and its end. `hearth daemon` on the command line does more."""

import json
import os
import subprocess

from ._command import find_program
from ._errors import FailedPrecondition, NotFound


def _command():
    found = find_program("hearth")
    if found is None:
        raise NotFound("the hearth command is not installed here: pip install hearth-compiler-daemon, or Debian's package hearth")
    return found


def _run(*words, socket=None):
    if socket is not None:
        words = (*words, "--socket", os.fspath(socket))
    return subprocess.run([_command(), "daemon", *words], capture_output=True, text=True, check=False)


def status(socket=None):
    """What `hearth daemon status --json` says, a dict: socket, version, what was compiled, memory; None where none runs.

    Args:
        socket: of a daemon; None: HEARTH_SOCKET, else where this user's is.
    """
    ran = _run("status", "--json", socket=socket)
    if ran.returncode == 3:
        return None
    if ran.returncode != 0:
        raise FailedPrecondition(ran.stderr.strip() or f"hearth daemon status ended with {ran.returncode}")
    return json.loads(ran.stdout)


def stop(socket=None):
    """Ends the daemon; what it compiled stays in the cache, and the next process that needs it starts another. False where none
    runs."""
    if status(socket) is None:
        return False
    ran = _run("stop", socket=socket)
    if ran.returncode != 0:
        raise FailedPrecondition(ran.stderr.strip() or f"hearth daemon stop ended with {ran.returncode}")
    return True
