"""One user's corner for a test: a folder with a daemon of its own, a built sample library, and processes that call it.

  with Place() as place:
      place.build("cpu", "g++")                                  # place.install: libmha_fwd.so, ck_jit/
      place.start_daemon()
      process = place.caller(code, library)                      # python3 -c code library SAMPLE
      place.stats()["blobs_compiled"]

Used by one thread. What fails raises with the program's last lines. `close` (or `with`) ends the daemon and removes
the folder.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(os.environ["HEARTH_BIN_DIR"])
SAMPLE = Path(os.environ["HEARTH_SOURCE_DIR"]) / "tests/blobs/sample"
KEPT = ("PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


def require_programs():
    """Ends this program with a line when what it runs is not built: no test of it can mean anything."""
    for program in ("hearth", "hearthd", "hearth-hipcc", "hearth-blobc", "hearth-blob-worker"):
        if not (BIN / program).exists():
            sys.exit(f"{BIN / program} is not built")


class Place:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hearth end "))  # a space, on purpose
        self.cache = self.folder / "cache"
        self.install = self.folder / "install"
        self.environment = {**{name: os.environ[name] for name in KEPT if name in os.environ}, "LC_ALL": "C.UTF-8",
                            "HEARTH_SOCKET": str(self.folder / "hearthd.sock"), "HEARTH_CACHE_DIR": str(self.cache),
                            # The daemon is started by start_daemon, and what is asked is asked of it.
                            "HEARTH_NO_AUTOSTART": "1", "HEARTH_BLOB_MODE": "daemon", "CK_JIT_VERBOSE": "1",
                            "PYTHONDONTWRITEBYTECODE": "1"}
        self.daemon = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stop_daemon()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words, **environment):
        """The program's stdout; raises when it fails."""
        done = subprocess.run(list(map(str, words)), env={**self.environment, **environment}, capture_output=True,
                              text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-2000:]}"
                               f"{done.stderr[-4000:]}")
        return done.stdout

    def build(self, flavour, *options, api="fwd", generation="2024"):
        """Emits the sample and builds it by `hearth blobs build full` into `install`."""
        tree = self.folder / "aiter"
        self.run(sys.executable, SAMPLE / "generate.py", "--out", tree, "--flavour", flavour, "--generation",
                 generation)
        self.run(BIN / "hearth", "blobs", "build", "full", "--aiter-dir", tree, "--gpu-archs", "gfx942", "--tmp-dir",
                 self.folder / "T", "--install-dir", self.install, "--api", api, "--python", sys.executable, *options,
                 CXX="g++")

    def manifest(self):
        return json.loads((self.install / "ck_jit/ck_jit_manifest.json").read_text(encoding="utf-8"))

    def start_daemon(self, **environment):
        log = open(self.folder / "hearthd.log", "ab")
        with log:
            self.daemon = subprocess.Popen([BIN / "hearthd"], env={**self.environment, **environment},
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        give_up = time.monotonic() + 300
        while subprocess.run([BIN / "hearth", "stats", "--json"], env=self.environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("hearthd does not answer:\n" + (self.folder / "hearthd.log").read_text()[-4000:])
            time.sleep(0.02)

    def stop_daemon(self):
        if self.daemon is None:
            return
        self.daemon.terminate()
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None

    def stats(self):
        """The daemon's counters; raises when its blob requests do not add up."""
        stats = json.loads(self.run(BIN / "hearth", "stats", "--json"))
        parts = [stats[f"blob_{part}"] for part in ("hits", "misses", "joined", "errors")]
        if stats["blob_requests"] != sum(parts):
            raise AssertionError(f"{stats['blob_requests']} blob requests are not {' + '.join(map(str, parts))}")
        return stats

    def caller(self, code, *words, **environment):
        """A process of Python's that imports from the sample's folder; the caller waits for it."""
        return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], text=True, errors="replace",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.environment, "PYTHONPATH": str(SAMPLE), "OPENBLAS_NUM_THREADS": "1",
                                     **environment})

    def call(self, code, *words, **environment):
        """(the last line of stdout as JSON, {stem: path} of blobs that were loaded) of a caller that must succeed."""
        with self.caller(code, *words, **environment) as process:
            out, err = process.communicate(timeout=300)
        if process.returncode != 0:
            raise RuntimeError(f"the caller ended with {process.returncode}:\n{out[-2000:]}{err[-4000:]}")
        return json.loads(out.splitlines()[-1]), loaded_blobs(err)


def loaded_blobs(text):
    """{stem: path} of what the loader said with CK_JIT_VERBOSE."""
    found = re.findall(r"^hearth_blob: (\S+): [^,\n]*, (/.*) \(\d+\.\d+ s\)$", text, re.MULTILINE)
    return {stem: Path(path) for stem, path in found}
