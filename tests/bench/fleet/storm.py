#!/usr/bin/env python3
"""A rollout's start on one machine: nodes that all prepare one model at once, without and with a cache beyond them.

    tests/bench/fleet/storm.py MODEL.onnx [--nodes 8] [--workers 2]

Prints, of each case, the seconds until the last node was ready, and how often a kernel was compiled over all nodes.
Needs buildbox-casd (tests/fleet/remote_servers.py)."""
import argparse
import concurrent.futures
import contextlib
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fleet"))
import nodes  # noqa: E402
import remote_servers  # noqa: E402


class Storm:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.key = nodes.Key(self.folder / "writer.key")
        self.count = 0

    def fleet(self, stack, number, remote=None, writes=True):
        """Nodes with cold caches, all started."""
        fleet = []
        for _ in range(number):
            self.count += 1
            fleet.append(stack.enter_context(nodes.Node(
                self.folder / str(self.count), remote=remote, trusted=[self.key.public],
                writer=self.key.file if remote and writes else None, settings={"workers": self.options.workers})))
        return fleet

    def prepare(self, fleet):
        """All at once -> (seconds until the last is ready, kernels, compiles)"""
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(len(fleet)) as pool:
            done = list(pool.map(lambda node: node.prewarm(self.options.model), fleet))
        return time.monotonic() - began, done[0]["kernels"], sum(row["compiled"] for row in done)

    def report(self, what, fleet):
        seconds, kernels, compiled = self.prepare(fleet)
        self.kernels = kernels
        calls = ""
        remotes = [node.stats()["remote"] for node in fleet]
        if remotes[0]:
            total = {name: sum(remote[name] for remote in remotes)
                     for name in ("hits", "misses", "late", "errors", "unsigned", "sent")}
            calls = ", ".join(f"{count} {name}" for name, count in total.items() if count)
        print(f"{what:44} {seconds:6.2f} s  {compiled / kernels:5.2f} compiles a kernel ({kernels})  {calls}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(options, folder)
        for round_ in range(options.rounds):
            with contextlib.ExitStack() as stack:
                storm.report("one node alone, no remote", storm.fleet(stack, 1))
            with contextlib.ExitStack() as stack:
                fleet = storm.fleet(stack, options.nodes)
                storm.report(f"{options.nodes} nodes, no remote", fleet)
                storm.report(f"{options.nodes} nodes, from their own caches", fleet)
            with remote_servers.Casd(pathlib.Path(folder) / f"casd{round_}") as server:
                with contextlib.ExitStack() as stack:
                    fleet = storm.fleet(stack, options.nodes, server.address)
                    storm.report(f"{options.nodes} cold nodes, cold casd", fleet)
                    fleet[0].wait_until(lambda: sum(node.remote()["sent"] for node in fleet) > storm.kernels,
                                        "all kernels and the plan are sent")
                with contextlib.ExitStack() as stack:
                    fleet = storm.fleet(stack, options.nodes, server.address, writes=False)
                    storm.report(f"{options.nodes} cold nodes, warm casd", fleet)


if __name__ == "__main__":
    main()
