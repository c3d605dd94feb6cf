#!/usr/bin/env python3
"""Three hostile users of a node's daemon, who do all that hostile.py can at once, and a fourth beside them: what that one
waits for, what it is refused, and what the daemon takes. Needs root.

/usr/bin/python3 node_hostile_test.py EXAMPLES [--seconds 20]    (scripts/soak.sh hostile: five minutes)

Hits of the fourth: their 99th percentile at most 3 times that beside as many processes as processors that are busy with
something else, or FLOOR_MS; what it is beside nothing is printed. Misses of a small model at most MISS_MS. None refused, none
wrong; 512 MB, 10 MB of log."""
import argparse
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "attack")]
parser = argparse.ArgumentParser()
parser.add_argument("examples")
parser.add_argument("--seconds", type=float, default=20)
OPTIONS = parser.parse_args()
sys.argv[2:] = []
import http2  # noqa: E402
import messages  # noqa: E402
import digits_node  # noqa: E402
from node import USERS, Node, acting_as  # noqa: E402

PREPARE = "/hearth.v1.CompilerService/Prepare"
MISS_MS, FLOOR_MS, MEMORY_MB, LOG_BYTES = 2000, 20, 512, 10 << 20


class Fourth:
    """A user's process: a plan that is there, and now and then a small one that is new."""

    def __init__(self, node, protos):
        self.node, self.protos, self.number = node, protos, 0
        with acting_as(USERS[3]):
            self.connection = http2.Connection(str(node.socket), timeout=600)
        self.known = protos.prepare(protos.chain())
        self.plan = self.call(self.known)[1].plan
        self.wrong = []

    def call(self, request):
        began = time.monotonic()
        events, status = self.connection.call(PREPARE, request)
        took_ms = 1e3 * (time.monotonic() - began)
        if status != 0:
            self.wrong.append(f"status {status}: {self.connection.said[:200]}")
        return took_ms, self.protos.result_of(events)

    def work(self, seconds):
        """Milliseconds of hits and of misses."""
        hits, misses, end = [], [], time.monotonic() + seconds
        while time.monotonic() < end:
            is_new = (len(hits) + len(misses)) % 50 == 25
            self.number += is_new
            request = self.protos.prepare(self.protos.chain(ops=5, constant=0.5 + self.number)) if is_new else self.known
            took_ms, result = self.call(request)
            if result is None or (result.plan == self.plan) == is_new:
                self.wrong.append("another plan than asked for" if result else "no result")
            (misses if is_new else hits).append(took_ms)
            time.sleep(0.01)
        return sorted(hits), misses


def p99(times):
    return times[min(len(times) - 1, int(len(times) * 0.99))]


def memory_mb(node):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{node.daemon.pid}/status").read_text())[1]) / 1024


class ThreeHostileUsers(unittest.TestCase):
    def test_a_fourth_user_is_served(self):
        with tempfile.TemporaryDirectory(prefix="hearth-hostile-", dir="/run") as temporary:
            folder = pathlib.Path(temporary)
            (folder / "protos").mkdir()
            protos = messages.Messages(folder / "protos")
            scripts = folder / "tests/fault/attack"  # the sources may lie where only root looks
            scripts.mkdir(parents=True)
            for script in (HERE / "hostile.py", HERE.parent / "attack/http2.py", HERE.parent / "attack/messages.py"):
                shutil.copy(script, scripts)
            subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            with Node(HEARTH_WORKERS="2", HEARTH_METRICS=f"127.0.0.1:{port}") as node:
                self.measure(node, protos, folder, port)

    def measure(self, node, protos, folder, port):
        fourth = Fourth(node, protos)
        self.addCleanup(fourth.connection.close)
        idle, own = fourth.work(5)
        busy = [subprocess.Popen(["timeout", "6", "sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
        beside_busy, _ = fourth.work(5)
        for process in busy:
            process.wait()
        attackers = [subprocess.Popen(node.command(user, sys.executable, "-B", folder / "tests/fault/attack/hostile.py", node.socket,
                                                   folder / "protos", OPTIONS.seconds, port), cwd="/", stderr=subprocess.PIPE)
                     for user in USERS[:3]]
        hits, misses = fourth.work(OPTIONS.seconds - 1)
        live = digits_node.page(f"127.0.0.1:{port}", "/live")
        said = [attacker.communicate(timeout=600)[1].decode()[-300:] for attacker in attackers]
        memory, log = memory_mb(node), sum(path.stat().st_size for path in node.folder.glob("log*"))
        print(f"hits: {len(hits)}, 99th percentile {p99(hits):.2f} ms (median {hits[len(hits) // 2]:.2f}), beside busy processes "
              f"{p99(beside_busy):.2f}, beside nothing {p99(idle):.2f}; misses: {len(misses)}, 99th percentile "
              f"{p99(sorted(misses)):.0f}, longest {max(misses):.0f} ms, beside nothing {max(own):.0f}; "
              f"the daemon took {memory:.0f} MB, its log {log / 1e6:.2f} MB; {said}", flush=True)
        self.assertEqual(fourth.wrong, [])
        self.assertEqual(live, (200, "live\n"))
        self.assertEqual([attacker.returncode for attacker in attackers], [0, 0, 0], said)
        self.assertLessEqual(p99(hits), max(3 * p99(beside_busy), FLOOR_MS))
        self.assertLessEqual(max(misses), MISS_MS)
        self.assertLessEqual(memory, MEMORY_MB)
        self.assertLessEqual(log, LOG_BYTES)


if __name__ == "__main__":
    digits_node.main()
