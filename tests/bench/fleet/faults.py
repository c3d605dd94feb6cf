#!/usr/bin/env python3
"""What a fleet's cache costs a node when it is frozen, killed or silent, and how soon a node asks again.

    tests/bench/fleet/faults.py [--models 6]

Prints the milliseconds of a Prepare of one kernel that nobody has compiled: the median and the longest of several. Beside
casd and BuildGrid (tests/fleet/remote_servers.py)."""
import argparse
import pathlib
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fleet"))
import nodes  # noqa: E402
import remote_servers  # noqa: E402
from models import make_model  # noqa: E402


class Bench:
    def __init__(self, folder, models):
        self.folder, self.models, self.count = pathlib.Path(folder), models, 0
        self.key = nodes.Key(self.folder / "writer.key")

    def node(self, remote):
        self.count += 1
        return nodes.Node(self.folder / f"node{self.count}", remote=remote, trusted=[self.key.public],
                          writer=self.key.file)

    def prepares(self, what, node):
        took = []
        for _ in range(self.models):
            self.count += 1
            made = make_model(self.folder / f"model{self.count}.onnx", kernels=1, length=100 + 16 * self.count)
            took.append(node.prewarm(made)["ms"])
        print(f"{what:44} {statistics.median(took):7.1f} ms, {max(took):7.1f} at most", flush=True)

    def beside(self, kind):
        with kind(self.folder / f"{kind.__name__}{self.count}") as server:
            with self.node(server.address) as node:
                node.wait_until(lambda: node.remote()["is_asked"], "the server is asked")
                self.prepares(f"{kind.__name__}, well", node)
                server.freeze()
                self.prepares(f"{kind.__name__}, frozen at a look-up", node)
                print(f"{kind.__name__}, asked still: {node.remote()['is_asked']}", flush=True)
                server.thaw()
                began = time.monotonic()
                node.wait_until(lambda: node.remote()["is_asked"], "the server is asked again")
                print(f"{kind.__name__}, asked again {time.monotonic() - began:.1f} s after it went on", flush=True)
                server.kill()
                self.prepares(f"{kind.__name__}, killed", node)
            server.start()
            server.freeze()
            with self.node(server.address) as node:
                self.prepares(f"{kind.__name__}, frozen before the node began", node)
            server.thaw()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as silent:
        bench = Bench(folder, options.models)
        with bench.node(None) as node:
            bench.prepares("no remote", node)
        for kind in (remote_servers.Casd, remote_servers.BuildGrid):
            bench.beside(kind)
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with bench.node(f"grpc://127.0.0.1:{silent.getsockname()[1]}") as node:
            bench.prepares("a port that accepts and never answers", node)


if __name__ == "__main__":
    main()
