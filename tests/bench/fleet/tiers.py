#!/usr/bin/env python3
"""Fifty tiers of one process that want the same 18 kernels at once, each with a compiler that sleeps 0.3 s a kernel.

    tests/bench/fleet/tiers.py [--rounds 3]

Prints, beside casd and BuildGrid, how often a kernel was compiled and the seconds until the last tier was ready; one
alone takes 5.4 s. Needs the program fleet_tiers, and the servers (tests/fleet/remote_servers.py)."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fleet"))
import nodes  # noqa: E402
import remote_servers  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        key = nodes.Key(folder / "writer.key")
        for kind in (remote_servers.Casd, remote_servers.BuildGrid):
            for round_ in range(options.rounds):
                with kind(folder / f"{kind.__name__}{round_}") as server:
                    done = subprocess.run([nodes.BIN / "fleet_tiers", server.address, key.file, key.public],
                                          capture_output=True, text=True, timeout=600, check=True)
                found = json.loads(done.stdout)
                print(f"{kind.__name__:10} {found['ready']} ready after {found['seconds']:.2f} s, a kernel compiled "
                      f"{found['mean_of_a_kernel']:.2f} times, {found['most_of_a_kernel']} at most", flush=True)


if __name__ == "__main__":
    main()
