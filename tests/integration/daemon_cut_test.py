#!/usr/bin/env python3
"""The real daemon goes down at every point of a call: before each HTTP/2 frame of either direction, killed (SIGKILL) or
told to end (SIGTERM). Between the command and the daemon stands a proxy that counts frames, takes the daemon down in
front of the K-th, for K = 0, 1, … until a call has no more, and starts the next daemon where a connection asks for one.
The call's answer must be as if nothing had happened. Exits with 77 (skipped) where Python's onnx is not installed.

daemon_cut_test.py [--every N] [run|explain|tune|blob …]        every N-th point only, from a random one on; with HEARTH_TEST_LONG set, each
"""
import argparse
import itertools
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from onnx_place import BIN, Place, np, onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import skipping

PREFACE = 24  # bytes that a client sends before its first frame
MOST_FRAMES = 200


class Frames:
    """Cuts the bytes of one direction into HTTP/2 frames: feed() gives those that are whole."""

    def __init__(self, preface):
        self.rest, self.preface = b"", preface

    def feed(self, data):
        self.rest += data
        if self.preface and len(self.rest) >= PREFACE:
            yield self.rest[:PREFACE]
            self.rest, self.preface = self.rest[PREFACE:], False
        while not self.preface and len(self.rest) >= 9:
            size = 9 + int.from_bytes(self.rest[:3], "big")
            if len(self.rest) < size:
                return
            yield self.rest[:size]
            self.rest = self.rest[size:]


class Daemon:
    """The real daemon behind the proxy; started when a connection asks for it."""

    def __init__(self, place):
        self.place, self.lock, self.process, self.started = place, threading.Lock(), None, 0
        self.socket = str(place.folder / "daemon" / "s.sock")

    def start(self):
        ready, told = os.pipe()
        command = [BIN / "hearthd", "--socket", self.socket, "--cache-dir", self.place.folder / "cache", "--workers", "1",
                   "--ready-fd", str(told)]
        with open(self.place.folder / "daemon.log", "ab") as log:
            self.process = subprocess.Popen(command, env=self.place.environment, pass_fds=[told], stderr=log, stdout=log)
        os.close(told)
        served = os.read(ready, 1) == b"1"
        os.close(ready)
        self.started += 1
        return served

    def connect(self):
        """A connection to a daemon that serves."""
        for _ in range(100):
            with self.lock:
                try:
                    stream = socket.socket(socket.AF_UNIX)
                    stream.connect(self.socket)
                    return stream
                except OSError:
                    stream.close()
                    if self.process is not None:
                        self.process.wait(timeout=300)  # it is ending: the next one takes its cache over
                    self.start()
        raise RuntimeError("no daemon serves")

    def send(self, number):
        with self.lock:
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(number)
                if number == signal.SIGKILL:
                    self.process.wait()


class Proxy:
    """Between a command and the daemon. cut_at(K, signal) arms one cut; `frames` counts since then."""

    def __init__(self, place):
        self.daemon, self.lock, self.frames, self.cut, self.has_cut = Daemon(place), threading.Lock(), 0, None, False
        path = place.environment["HEARTH_SOCKET"]
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o600)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        daemon = self.daemon.connect()
        ends = (client, daemon)
        for source, sink, preface in ((client, daemon, True), (daemon, client, False)):
            threading.Thread(target=self.pump, args=(source, sink, Frames(preface), ends), daemon=True).start()

    def pump(self, source, sink, frames, ends):
        try:
            while data := source.recv(1 << 16):
                for frame in frames.feed(data):
                    self.before_frame()
                    sink.sendall(frame)
        except OSError:
            pass
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def before_frame(self):
        with self.lock:
            number, self.frames = self.frames, self.frames + 1
            due = self.cut is not None and number == self.cut[0] and not self.has_cut
            self.has_cut |= due
            if due:
                self.daemon.send(self.cut[1])

    def cut_at(self, frame, number):
        with self.lock:
            self.frames, self.cut, self.has_cut = 0, (frame, number), False


class CutPlace(Place):
    def __init__(self, folder):
        super().__init__(folder)
        (self.folder / "clients").mkdir(mode=0o700)
        (self.folder / "daemon").mkdir(mode=0o700)
        self.environment["HEARTH_SOCKET"] = str(self.folder / "clients" / "s.sock")
        self.seeds = itertools.count()
        self.x = np.random.default_rng(0).standard_normal((4, 16), dtype=np.float32)
        np.save(self.folder / "x.npy", self.x)
        self.proxy = Proxy(self)

    def model(self):
        """A model that no daemon has seen: y = relu(x w) c."""
        seed = next(self.seeds)
        w = np.random.default_rng(seed).standard_normal((16, 8 + seed % 7), dtype=np.float32)
        c = np.float32(seed + 1.5)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["r"]),
                 helper.make_node("Mul", ["r", "c"], ["y"])]
        graph = helper.make_graph(nodes, f"cut{seed}", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, w.shape[1]])],
                                  [numpy_helper.from_array(w, "w"), numpy_helper.from_array(c, "c")])
        path = self.folder / f"m{seed}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        return path, np.maximum(self.x @ w, 0) * c, c

    # What each command is called with and what its answer must be.
    def run(self):
        path, wanted, c = self.model()
        self.hearth("run", path, "--input", f"x={self.folder / 'x.npy'}", "--threads", "1", "--repeat", "1",
                    "--output-dir", self.folder / "out", "-q")
        got = np.load(self.folder / "out" / "y.npy")
        assert np.allclose(got, wanted, rtol=1e-5, atol=1e-5 * c), (got, wanted)

    def explain(self):
        path, _, _ = self.model()
        told = self.hearth("explain", path, "--threads", "1").stdout
        assert re.search(r"\bkernels?\b", told), told

    def tune(self):
        path, _, _ = self.model()
        self.hearth("tune", path, "--threads", "1", "--budget", "0.2", "-q")

    def blob(self):
        """The first call of a blob: blob_caller.cpp prints blob(1) of src/STEM.cpp, which adds `value`."""
        value = next(self.seeds)
        library = self.folder / "library"
        (library / "src").mkdir(parents=True, exist_ok=True)
        (library / "src" / f"b{value}.cpp").write_text(
            f"template <class T> T blob(T x);\ntemplate <> int blob<int>(int x) {{ return x + {value}; }}\n")
        client = BIN.parent / "lib" / "libhearth_blob_client.so"
        ran = subprocess.run([BIN / "hearth-blob-caller", client, library, "0", f"b{value}"], env=self.environment,
                             capture_output=True, text=True, timeout=300, check=False)
        assert ran.stdout == f"{1 + value}\n", f"{ran.returncode}: {ran.stdout}{ran.stderr}"


def check(place, command, every):
    """Every `every`-th point of `command`, by both signals; the number of points."""
    place.proxy.cut_at(0, 0)
    place.proxy.daemon.connect().close()  # the first daemon serves before the first cut
    points = 0
    for number in (signal.SIGKILL, signal.SIGTERM):
        for frame in range(random.randrange(every), MOST_FRAMES, every):
            place.proxy.cut_at(frame, number)
            try:
                getattr(place, command)()
            except AssertionError as error:
                raise AssertionError(f"{command}, {number.name} before frame {frame}: {error}") from error
            if not place.proxy.has_cut:
                break
            points += 1
        else:
            raise AssertionError(f"{command} has more than {MOST_FRAMES} frames: raise the bound")
    # A call has a request, its answer and both ends' settings at the least: fewer points mean that the proxy sees nothing.
    assert (points + 2) * every >= 16, f"{command}: only {points} points"
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("commands", nargs="*", choices=["run", "explain", "tune", "blob", []])
    options = parser.parse_args()
    options.every = 1 if "HEARTH_TEST_LONG" in os.environ else options.every
    # Not every build has what compiles blobs.
    every_command = ["run", "explain", "tune"] + ["blob"] * (BIN / "hearth-blob-caller").exists()
    for command in options.commands or every_command:
        with tempfile.TemporaryDirectory(prefix="hearth-cut-") as folder:
            place = CutPlace(folder)
            try:
                points = check(place, command, options.every * (3 if command == "tune" else 1))
            except AssertionError:
                print((place.folder / "daemon.log").read_text()[-4000:])
                raise
            finally:
                place.proxy.daemon.send(signal.SIGKILL)
            print(f"{command}: {points} points, {place.proxy.daemon.started} daemons, every answer right")
            assert place.proxy.daemon.started > points / 2
    if options.every > 1:
        skipping.skip_part("daemon_cut_test", f"every {options.every}. point of a call, drawn afresh; each in the long tier")


if __name__ == "__main__":
    main()
