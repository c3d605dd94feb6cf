"""What the tests of the built programs share: the programs, their commands and a skip that ctest counts."""
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN_DIR"])


def run(*words, program="hearth", **more):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HEARTH_NO_AUTOSTART": "1"}
    return subprocess.run([str(BIN / program), *words], env=environment, capture_output=True, text=True, timeout=300, **more)


def entries(text, title):
    """Names in a section of a help text; of an option with several all."""
    section = re.search(rf"^{title}:\n((?:  .*\n|\n(?=  ))*)", text, re.MULTILINE)
    rows = re.findall(r"^  ([^\s,]+(?:, [^\s,]+)*)", section.group(1), re.MULTILINE) if section else []
    return [name for row in rows for name in row.split(", ")]


def commands(path=()):
    """Every command that help names, the program itself first: as tuples of words."""
    yield path
    for name in entries(run(*path, "--help").stdout, "Commands"):
        yield from commands((*path, name))


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


class Shell:
    """An interactive shell on a terminal of its own, in a folder."""

    def __init__(self, words, folder, **environment):
        self.text = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(words[0], words, {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "READY> ", "HOME": str(folder),
                                        "HISTFILE": "", "LC_ALL": "C.UTF-8", **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    def type(self, line):
        os.write(self.terminal, line.encode() + b"\r")

    def read_until(self, mark):
        """What the terminal shows up to the mark; the rest is for the next call."""
        deadline = time.monotonic() + 300
        while mark not in self.text:
            ready, _, _ = select.select([self.terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {mark!r} in {self.text!r}"
            self.text += os.read(self.terminal, 4096).decode(errors="replace")
        read, _, self.text = self.text.partition(mark)
        return read

    def completed(self, typed):
        """The command line that Tab makes; a function hearth() shows its arguments as GOT<...>."""
        self.type(typed)
        line = self.read_until(">\r\n").rpartition("GOT<")[2].strip()
        self.read_until("READY> ")
        return line
