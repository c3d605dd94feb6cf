"""torch.compile(backend="hearth") beside eager and Inductor, in turns in one process: median and least milliseconds of a call,
seconds of the first one. Each model is timed in a process of its own.

    compare.py [--threads N] [MODEL...]      a row a model
    compare.py --start MODEL                 a process's first call by hearth, in its parts
    compare.py --overhead                    microseconds a call beyond a backend that returns constants
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "support")]


def prepared(name):
    import torch
    from torch_models import MODELS

    torch.manual_seed(0)
    model, given = MODELS[name]()
    model.eval()(*given)
    return model, given


def first_call(compiled, given):
    import torch

    begin = time.perf_counter()
    with torch.no_grad():
        compiled(*given)
    return time.perf_counter() - begin


def row(name, threads, seconds):
    import torch

    import hearth.torch

    torch.set_num_threads(threads)
    with torch.no_grad():
        model, given = prepared(name)
    ways = {"eager": model, "inductor": torch.compile(model, backend="inductor"), "hearth": torch.compile(model, backend=hearth.torch.backend)}
    first = {}
    for way, compiled in ways.items():
        torch._dynamo.reset() if way == "hearth" else None
        first[way] = first_call(compiled, given)
    ways["inductor"] = torch.compile(model, backend="inductor")  # the reset let it go; its cache has it
    first_call(ways["inductor"], given)
    times = {way: [] for way in ways}
    end = time.perf_counter() + seconds
    with torch.no_grad():
        while (time.perf_counter() < end and len(times["hearth"]) < 80) or len(times["hearth"]) < 5:
            for way, compiled in ways.items():
                for i in range(3):  # the first of three has the caches of another way
                    begin = time.perf_counter()
                    compiled(*given)
                    if i:
                        times[way].append(1000 * (time.perf_counter() - begin))
    cells = [f"{statistics.median(times[way]):.2f} / {min(times[way]):.2f}" for way in ways]
    median = {way: statistics.median(times[way]) for way in ways}
    print(f"| {name} | {threads} | {' | '.join(cells)} | {median['eager'] / median['hearth']:.2f} | {median['inductor'] / median['hearth']:.2f}"
          f" | {first['inductor']:.1f} / {first['hearth']:.1f} |", flush=True)


def start(name):
    import torch

    import hearth.torch
    from hearth.torch import _collecting

    torch.set_num_threads(1)
    with torch.no_grad():
        model, given = prepared(name)
    whole = first_call(torch.compile(model, backend="eager"), given)
    torch._dynamo.reset()
    reports = []
    ours = first_call(torch.compile(model, backend=_collecting(reports)), given)
    (report,) = reports
    stats, size = report.functions[0].stats, sum(one.numel() * one.element_size() for one in model.parameters())
    print(f"| {name} | {ours:.2f} | {whole:.2f} | {report.record_s:.2f} | {report.prepare_s:.2f} | {stats.compiled_kernels} of {stats.kernels}"
          f" | {stats.rpc_ms / 1000:.2f} / {stats.prepare_ms / 1000:.2f}"
          f" | {size / 1e9:.2f} | {stats.shared_weight_bytes / 1e9:.2f} |", flush=True)


def overhead():
    import torch
    from functorch.compile import nop
    from torch._dynamo.backends.common import aot_autograd

    from hearth.torch import _collecting

    torch.set_num_threads(1)

    def constant(graph, inputs):
        made = graph(*inputs)

        def run(args):
            return made

        run._boxed_call = True
        return run

    constants = aot_autograd(fw_compiler=nop, inference_compiler=constant)
    for count in (2, 40, 200):
        model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(count // 2))).eval()
        x, best, reports = torch.randn(1, 4), {}, []
        with torch.no_grad():
            for way, backend in (("constants", constants), ("hearth", _collecting(reports))):
                torch._dynamo.reset()
                compiled = torch.compile(model, backend=backend)
                compiled(x)
                best[way] = min(timed(compiled, x) for _ in range(15))
        replay = 1e6 * min(reports[0].functions[0]._time_executes(2000) for _ in range(9)) / 2000
        best["hearth"] -= replay  # what is computed is no overhead
        print(f"| {count} | {replay:.1f} | {best['constants']:.1f} | {best['hearth']:.1f} | {best['hearth'] - best['constants']:.1f} |", flush=True)


def timed(compiled, x, calls=300):
    begin = time.perf_counter()
    for _ in range(calls):
        compiled(x)
    return 1e6 * (time.perf_counter() - begin) / calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--start")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("models", nargs="*")
    given = parser.parse_args()
    if given.overhead:
        return overhead()
    if given.start:
        return start(given.start)
    if given.here:
        return row(given.models[0], given.threads, given.seconds)
    from torch_models import MODELS

    print("| model | threads | eager | Inductor | hearth | eager / hearth | Inductor / hearth | first call |\n|---|---|---|---|---|---|---|---|", flush=True)
    for name in given.models or MODELS:
        environment = {**os.environ, "OMP_NUM_THREADS": str(given.threads)}
        subprocess.run([sys.executable, __file__, "--here", f"--threads={given.threads}", f"--seconds={given.seconds}", name], env=environment,
                       stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
