"""Daemons as nodes of a fleet: each with a cold cache of its own and the remote cache that it is given.

    node = nodes.Node(folder, remote=server.address, trusted=[key.public], writer=key.file)
    node.prewarm(model)["compiled"]
"""
import json
import os
import pathlib
import re
import subprocess
import time

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
GIVE_UP_S = 600


class Key:
    def __init__(self, file):
        self.file = str(file)
        made = json.loads(hearth("remote", "keygen", self.file, "--json").stdout)
        self.public, self.id = made["public_key"], made["id"]


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
    return {**kept, "HEARTH_NO_AUTOSTART": "1"}


def hearth(*arguments, check=True):
    done = subprocess.run([BIN / "hearth", *map(str, arguments)], capture_output=True, text=True, env=environment(),
                          timeout=GIVE_UP_S)
    if check and done.returncode != 0:
        raise AssertionError(f"hearth {arguments}: {done.stdout}{done.stderr}")
    return done


class Node:
    def __init__(self, folder, *, remote=None, trusted=(), writer=None, settings=None, prefix=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.socket = str(self.folder / "s.sock")
        config = {"socket": self.socket, "cache_dir": str(self.folder / "cache"), "temp_dir": str(self.folder),
                  **(settings or {})}
        if remote:
            config["remote"] = remote
        if trusted:
            config["remote_trusted_keys"] = list(trusted)
        if writer:
            config["remote_writer_key"] = writer
        self.config = self.folder / "hearth.toml"
        self.config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in config.items()))
        self.prefix = list(prefix)
        self.start()

    def start(self):
        self.log = self.folder / "hearthd.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.prefix, BIN / "hearthd", "--foreground", "--config", self.config],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment())
        self.wait_until(lambda: self.stats(check=False).get("workers", 0) > 0, "a worker has started")

    def wait_until(self, holds, what):
        end = time.monotonic() + GIVE_UP_S
        while not holds():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"waited in vain until {what}: {self.text()[-2000:]}")
            time.sleep(0.02)

    def text(self):
        return self.log.read_text(errors="replace")

    def stats(self, check=True):
        done = hearth("stats", "--json", "--socket", self.socket, check=check)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def remote(self):
        return self.stats()["remote"]

    def check(self):
        """-> whether all steps worked, and the steps by address and name."""
        done = hearth("remote", "check", "--json", "--socket", self.socket, check=False)
        if not done.stdout:
            raise AssertionError(done.stderr)
        reply = json.loads(done.stdout)
        return reply["ok"], {step["step"]: step for step in reply["steps"]}

    def prewarm(self, model, *, check=True):
        """-> kernels, how many of them were compiled, the milliseconds of the Prepare."""
        done = hearth("prewarm", model, "--threads", 2, "--socket", self.socket, check=check)
        found = re.search(r"(\d+) kernels?.*?(\d+) compiled now, ([\d.]+) (ms|s)\b", done.stdout + done.stderr)
        if not found:
            raise AssertionError(done.stdout + done.stderr)
        return {"kernels": int(found[1]), "compiled": int(found[2]), "ms": float(found[3]) * (1 if found[4] == "ms" else 1000)}

    def wait_until_sent(self, results):
        self.wait_until(lambda: self.remote()["sent"] >= results, f"{results} results are sent")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
