"""What a call from Python costs beyond the replay itself: PYTHONPATH=build/release/python PYTHON python_calls.py

For one to eight arrays in and one out, and one array into the caller's memory: the best of five rounds, the replay of
the same plan in C++ in the same process, and the difference.
"""
import pathlib
import platform
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from place import F, hearth, model, node, np, stop  # noqa: E402

ROUNDS, CALLS = 5, 100_000


def best(call):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
    return min(times)


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main():
    print(f"{cpu()}, Python {platform.python_version()}, numpy {np.__version__}; microseconds a call")
    loop = best(lambda: None)
    first = None
    for count in (1, 2, 4, 8):
        names = [f"x{i}" for i in range(count)]
        nodes = [node("Sum", names, ["y"])] if count > 1 else [node("Relu", names, ["y"])]
        f = hearth.load(model(nodes, {name: (F, [4]) for name in names}, {"y": F}).SerializeToString(), threads=1)
        arrays = [np.ones(4, "f") for _ in names]
        called = best(lambda: f(*arrays)) - loop
        bare = min(f._time_executes(CALLS) for _ in range(ROUNDS)) / CALLS * 1e6
        beyond = called - bare
        first = beyond if first is None else first
        more = f", {(beyond - first) / (count - 1):.2f} for each further one" if count > 1 else ""
        print(f"{count} in, 1 out: {called:.2f}, replay {bare:.2f}, beyond it {beyond:.2f}{more}")
        if count == 1:
            y = np.empty(4, "f")
            into = best(lambda: f.into(arrays[0], out={"y": y})) - loop
            print(f"1 into 1: {into:.2f}, beyond the replay {into - bare:.2f}")
    f = hearth.jit(lambda a, b, c: a + b * c, threads=1)
    arrays = [np.ones(4, "f") for _ in range(3)]
    f(*arrays)
    called = best(lambda: f(*arrays)) - loop
    bare = min(f._plans[next(iter(f._plans))][0].function._time_executes(CALLS) for _ in range(ROUNDS)) / CALLS * 1e6
    print(f"jit, 3 in, 1 out: {called:.2f}, replay {bare:.2f}, beyond it {called - bare:.2f}")
    start = time.perf_counter()
    y = x = hearth.tensor(arrays[0])
    for _ in range(1000):
        y = (y + x) * 0.5
    print(f"recording 2,000 ops: {(time.perf_counter() - start) * 1e3:.1f} ms")

    def many(x):
        y = x
        for _ in range(1000):
            y = (y + x) * 0.5
        return y
    times = []
    for _ in range(3):
        tracer = hearth.Tracer()
        start = time.perf_counter()
        with tracer:
            graph = tracer.build([many(tracer.register_input(arrays[0]))])
        times.append((time.perf_counter() - start) * 1e3)
    print(f"tracing a graph of 2,000 ops: {min(times):.1f} ms")
    fresh, hit = [], []
    for i in range(20):
        t = hearth.tensor(np.ones(4 + i, "f"))
        start = time.perf_counter()
        (t * 2 + 1).evaluate()
        fresh.append((time.perf_counter() - start) * 1e3)
        t = hearth.tensor(np.ones(4 + i, "f"))
        start = time.perf_counter()
        (t * 2 + 1).evaluate()
        hit.append((time.perf_counter() - start) * 1e3)
    print(f"evaluate(): {sorted(fresh)[10]:.2f} ms for a new graph, {sorted(hit)[10]:.3f} ms for the same one again")
    stop()


main()
