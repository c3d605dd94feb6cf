#!/usr/bin/python3
"""What a blob costs the caller of libmha_fwd.so, through a daemon: the first call of the node (a compile), the first
call of later processes (the blob is in the cache), and later calls.

  HEARTH_SOURCE_DIR=. HEARTH_BIN_DIR=build/release/bin tests/bench/blob_flow_bench.py [processes]

Builds the sample library with `hearth blobs build full` and prints one line a figure. Needs g++, ninja and numpy.
"""
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["HEARTH_SOURCE_DIR"]) / "tests/blobs/end_to_end"))
from blob_place import Place  # noqa: E402

# Prints seconds of the first call and of the fastest of the later ones. One row, one head: little but the call.
CALLER = """
import ctypes, json, sys, time
import numpy as np
import sample_library as sample
library = ctypes.CDLL(sys.argv[1])
q, k = np.ones((1, 1, 1, 64), np.float16), np.ones((1, 1, 64, 64), np.float16)
def call():
    began = time.perf_counter()
    sample.forward(library, q, k, k, "fp16", 0.125)
    return time.perf_counter() - began
print(json.dumps([call(), min(call() for _ in range(200))]))
"""


def main():
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with Place() as place:
        began = time.monotonic()
        place.build("cpu", "--toolchain", "c++", "--compiler", "g++")
        print(f"hearth blobs build full, {len(place.manifest()['blobs'])} blobs: {time.monotonic() - began:.2f} s")
        place.start_daemon()
        library = place.install / "libmha_fwd.so"
        (first, later), _ = place.call(CALLER, library)
        print(f"first call of the node, a compile: {first * 1e3:.1f} ms")
        firsts = [place.call(CALLER, library)[0][0] for _ in range(processes)]
        print(f"first call of a process, cached: median {statistics.median(firsts) * 1e3:.2f} ms, "
              f"least {min(firsts) * 1e3:.2f} ms, of {processes} processes")
        print(f"later calls, with Python's part: {later * 1e6:.1f} us")
        stats = place.stats()
        print(f"{stats['blob_requests']} requests, {stats['blobs_compiled']} compiled, {stats['blob_hits']} hits")


if __name__ == "__main__":
    main()
