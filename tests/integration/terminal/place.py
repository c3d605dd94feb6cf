"""A private corner for tests of the built programs: a folder with a socket, a cache and a daemon of its own."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN_DIR"])
SOURCE = Path(os.environ["HEARTH_SOURCE_DIR"])
DIGITS = SOURCE / "examples/digits/digits.onnx"
KEPT = ("PATH", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


def skip(why):
    """Ends the test; ctest counts it as skipped."""
    print("SKIPPED:", why)
    sys.exit(77)


def onnx_or_skip():
    try:
        import onnx
    except ImportError:
        skip("python3-onnx is not installed")
    return onnx


class Place:
    def __init__(self, **environment):
        self.folder = Path(tempfile.mkdtemp(prefix="hearth-terminal-"))
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environment |= {"HOME": str(self.folder), "LC_ALL": "C.UTF-8", "HEARTH_SOCKET": str(self.folder / "s"),
                             "HEARTH_CACHE_DIR": str(self.folder / "cache"), "HEARTH_IDLE_EXIT_S": "120"} | environment

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("daemon", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def words(self, *words, program="hearth"):
        return [str(BIN / program), *(os.fsencode(word) if isinstance(word, (bytes, Path)) else word for word in words)]

    def run(self, *words, program="hearth", environment={}, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300} | more
        if "input" in more:
            del more["stdin"]
        ran = subprocess.run(self.words(*words, program=program), env=self.environment | environment, cwd=self.folder,
                             **more)
        for name in ("stdout", "stderr"):
            text = getattr(ran, name)
            setattr(ran, name + "_bytes", text)
            setattr(ran, name, text.decode(errors="surrogateescape") if text is not None else "")
        return ran

    def run_ok(self, *words, **more):
        ran = self.run(*words, **more)
        assert ran.returncode == 0, (words, ran.returncode, ran.stderr)
        return ran

    @property
    def log(self):
        return Path(str(self.environment["HEARTH_SOCKET"]) + ".log")


def leaf_commands(place):
    """Every command that does something, as tuples of words, from the program's own help."""

    def walk(path):
        section = re.search(r"^Commands:\n((?:  .*\n)*)", place.run(*path, "--help").stdout, re.MULTILINE)
        names = re.findall(r"^  (\S+)", section.group(1), re.MULTILINE) if section else []
        if not names:
            yield path
        for name in names:
            yield from walk((*path, name))

    return set(walk(()))


def unsafe_characters(data):
    """What a terminal obeys, or what is no UTF-8, in bytes that were printed."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [str(error)]
    return sorted({repr(c) for c in text
                   if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t\u200c\u200d"})


def closed_pipe():
    """The end for writing of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def ignore_sigpipe():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
