#!/usr/bin/env python3
"""Clients at work while their daemon and its workers are killed: no request may fail, and every answer is right.

/usr/bin/python3 tests/fault/daemon/soak.py BIN_DIR [--seconds 180] [--clients 6] [--kill-worker 1] [--kill-daemon 12]

Each client runs models in a loop, one in four of them new to the cache. Every --kill-worker seconds a worker is killed,
every --kill-daemon seconds the daemon, in turn by SIGKILL and SIGTERM. With --users N the clients are N users' of one
service, which is started again as a service manager does (root). Prints one line of figures; exit code 1 when a
request failed or gave wrong numbers, or a process or a worker's folder was left. Not part of ctest: it takes minutes.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def model(path, seed):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((16, 8 + seed % 64), dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["r"]),
             helper.make_node("Mul", ["r", "c"], ["y"])]
    c = np.float32(seed + 1)
    graph = helper.make_graph(nodes, "soak", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, w.shape[1]])],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(c, "c")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return w, c


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder, self.end = options, Path(folder), time.time() + options.seconds
        self.hearth, self.node = str(Path(options.bin) / "hearth"), None
        self.environment = {**os.environ, "HEARTH_SOCKET": str(self.folder / "s.sock"),
                            "HEARTH_CACHE_DIR": str(self.folder / "cache")}
        self.lock, self.runs, self.failed, self.wrong, self.kills = threading.Lock(), 0, [], 0, [0, 0]
        self.seeds = iter(range(1_000_000))
        self.x = np.random.default_rng(0).standard_normal((4, 16), dtype=np.float32)
        np.save(self.folder / "x.npy", self.x)
        if options.users:
            self.use_node()

    def use_node(self):
        os.environ["HEARTH_BIN_DIR"] = self.options.bin
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "node"))
        from node import USERS, Node
        self.folder.chmod(0o755)
        self.node, self.users = Node(activate=True, TMPDIR=str(self.folder / "workers")), USERS[:self.options.users]
        (self.folder / "workers").mkdir()
        (self.folder / "workers").chmod(0o1777)
        self.node.start()
        self.node.supervise()
        self.environment, self.hearth = {**self.node.environment, "HEARTH_NO_AUTOSTART": "1"}, str(self.node.programs / "hearth")

    def as_client(self, number, words):
        return self.node.command(self.users[number % len(self.users)], *words) if self.node else words

    def client(self, number):
        choose, known = random.Random(number), []
        out = self.folder / f"out{number}"
        if self.node:
            out.mkdir()
            os.chown(out, *[self.users[number % len(self.users)]] * 2)
        while time.time() < self.end:
            if not known or choose.random() < 0.25:
                with self.lock:
                    seed = next(self.seeds)
                path = str(self.folder / f"m{seed}.onnx")
                known.append((path, *model(path, seed)))
            path, w, c = choose.choice(known[-20:])
            done = subprocess.run(self.as_client(number, [self.hearth, "run", path, "--input", f"x={self.folder / 'x.npy'}", "--threads", "1",
                                   "--output-dir", out, "-q"]), env=self.environment, capture_output=True, text=True,
                                  check=False)
            wanted = np.maximum(self.x @ w, 0) * c  # sums of 16 products of a few units
            wrong = done.returncode == 0 and not np.allclose(np.load(out / "y.npy"), wanted, rtol=1e-5, atol=1e-5 * c)
            with self.lock:
                self.runs += 1
                self.wrong += wrong
                if done.returncode != 0:
                    self.failed.append(done.stderr.strip())

    def pids(self, name):
        """Of this soak's daemon or its workers."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                environment = (entry / "environ").read_bytes() if words else b""
            except OSError:
                continue
            if words and os.path.basename(words[0].decode()) == name:
                mine = str(self.node.folder if self.node else self.folder).encode()
                if mine in b"\0".join(words) or mine in environment:
                    found.append(int(entry.name))
        return found

    def workers(self):
        """Processes that compile: below a daemon there is a keeper, an init of its own namespace, and the worker."""
        daemons, found = set(self.pids("hearthd")), []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if words and (entry / "comm").read_text().strip() == "hearth-worker":
                    found += [int(entry.name) for word in words
                              if word.startswith(b"--parent=") and int(word[9:]) in daemons]
            except OSError:
                continue
        return found

    def kill(self, pids, number, which):
        for pid in pids:
            try:
                os.kill(pid, number)
                self.kills[which] += 1
            except ProcessLookupError:
                pass

    def disturb(self):
        turn, next_daemon = 0, time.time() + self.options.kill_daemon
        while time.time() < self.end:
            time.sleep(self.options.kill_worker)
            if workers := self.workers():
                self.kill([random.choice(workers)], signal.SIGKILL, 0)
            if time.time() >= next_daemon:
                self.kill(self.pids("hearthd"), (signal.SIGKILL, signal.SIGTERM)[turn % 2], 1)
                turn, next_daemon = turn + 1, time.time() + self.options.kill_daemon

    def run(self):
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(self.options.clients)]
        threads.append(threading.Thread(target=self.disturb))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.node:
            self.node.stop()
        else:
            subprocess.run([self.hearth, "daemon", "stop", "-q"], env=self.environment, check=False)
        time.sleep(1)
        left = self.pids("hearthd") + self.workers()
        # An empty one is of a daemon that was killed while it made it: swept when it is an hour old.
        folders = [path for path in (self.folder / "workers").iterdir() if any(path.iterdir())] if self.node else []
        print(f"{len(left)} processes and {len(folders)} workers' folders are left")
        print(f"{self.runs} requests of {self.options.clients} clients in {self.options.seconds} s, {len(self.failed)} failed, "
              f"{self.wrong} wrong; {self.kills[0]} workers and {self.kills[1]} daemons killed")
        for text in sorted(set(self.failed)):
            print(f"  {self.failed.count(text)}: {text}")
        return 1 if self.failed or self.wrong or left or folders or not self.runs or 0 in self.kills else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    for flag, default in (("--seconds", 180), ("--clients", 6), ("--kill-worker", 1), ("--kill-daemon", 12), ("--users", 0)):
        parser.add_argument(flag, type=int, default=default)
    with tempfile.TemporaryDirectory(prefix="hearth-soak-") as folder:
        return Soak(parser.parse_args(), folder).run()


if __name__ == "__main__":
    sys.exit(main())
