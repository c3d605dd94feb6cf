#!/usr/bin/env python3
"""Clients, daemons, caches and plan files of two versions, each with the other: what a node sees in the middle of an
upgrade, and after going back.

    /usr/bin/python3 tests/compatibility/versions.py OLD_BIN NEW_BIN    (folders with hearth, hearthd, hearth-worker)
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL, IMAGES = EXAMPLES / "digits.onnx", EXAMPLES / "digits_images.npy"


class Place:
    """One user's socket and cache, and whichever programs it is told to run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "HEARTH_SOCKET": f"{folder}/s.sock",
                            "HEARTH_CACHE_DIR": f"{folder}/cache", "HEARTH_THREADS": "1"}

    def hearth(self, programs, *words, code=0, **more):
        ran = subprocess.run([programs / "hearth", *map(str, words)], env={**self.environment, **more}, cwd="/",
                             capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == code, f"{programs}/hearth {words}: {ran.returncode}: {ran.stdout}{ran.stderr}"
        return ran

    def json(self, programs, *words):
        return json.loads(self.hearth(programs, *words, "--json").stdout)

    def digits(self, programs, model=MODEL):
        """What a run says, and its numbers."""
        out = self.folder / "out"
        said = self.json(programs, "run", model, "--input", f"image={IMAGES}", "--output-dir", out)
        return said, np.load(out / "probability.npy")

    def start(self, programs):
        self.hearth(programs, "daemon", "start", HEARTH_DAEMON=str(programs / "hearthd"))

    def stop(self, programs):
        self.hearth(programs, "daemon", "stop")


def clients_and_daemons(old, new, want):
    for client, daemon in ((old, new), (new, old)):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder)
            place.start(daemon)
            said, numbers = place.digits(client)
            assert said["compiled_kernels"] == said["kernels"], said
            np.testing.assert_allclose(numbers, want, atol=1e-6)
            said, numbers = place.digits(client)
            assert said["plan_hit"] and said["compiled_kernels"] == 0, said
            np.testing.assert_allclose(numbers, want, atol=1e-6)
            assert place.digits(daemon)[0]["plan_hit"]  # the daemon's own client has the same key
            place.hearth(client, "prewarm", MODEL, "--threads", "2")
            assert place.json(client, "explain", MODEL)["kernels"]
            assert place.json(client, "stats")["kernels_compiled"] >= said["kernels"]
            assert len(place.json(client, "cache", "ls")) > 0
            place.hearth(client, "cache", "verify")
            place.hearth(client, "tune", MODEL, "--budget", "1")
            place.hearth(client, "daemon", "status")
            place.stop(client)
            yield f"client of {client}, daemon of {daemon}"


def caches(old, new, want):
    for first, second in ((old, new), (new, old)):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder)
            place.start(first)
            place.digits(first)
            place.stop(first)
            place.start(second)
            np.testing.assert_allclose(place.digits(second)[1], want, atol=1e-6)
            place.hearth(second, "cache", "verify")
            place.stop(second)
            place.start(first)
            said, numbers = place.digits(first)
            assert said["plan_hit"], f"what {first} had compiled is gone: {said}"
            np.testing.assert_allclose(numbers, want, atol=1e-6)
            place.stop(first)
            yield f"cache of {first}, used by {second}, and back"


def upgrades(old, new, want):
    for before, after in ((old, new), (new, old)):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder)
            place.start(before)
            place.digits(before)
            place.hearth(after, "daemon", "restart", HEARTH_DAEMON=str(after / "hearthd"))
            for client in (before, after):
                np.testing.assert_allclose(place.digits(client)[1], want, atol=1e-6)
            place.stop(after)
            yield f"daemon of {before} followed by that of {after}"


def plan_files(old, new, want):
    for writer, reader in ((old, new), (new, old)):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder)
            plan = place.folder / "m.hearth"
            place.hearth(writer, "export", MODEL, "-o", plan)
            place.stop(writer)
            np.testing.assert_allclose(place.digits(reader, plan)[1], want, atol=1e-6)
            yield f"plan file of {writer}, replayed by {reader}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("old", type=pathlib.Path)
    arguments.add_argument("new", type=pathlib.Path)
    options = arguments.parse_args()
    old, new = options.old.resolve(), options.new.resolve()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        place.start(old)
        want = place.digits(old)[1]
        place.stop(old)
    labels = np.load(EXAMPLES / "digits_labels.npy")
    print(f"{(want.argmax(1) == labels).sum()} of {len(labels)} digits are right")
    for check in (clients_and_daemons, caches, upgrades, plan_files):
        for done in check(old, new, want):
            print("holds:", done)


if __name__ == "__main__":
    sys.exit(main())
