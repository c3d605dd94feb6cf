"""torch's own samples of its operators (op_db), through torch.compile(backend="hearth") and in eager.

    python torch_op_db.py [--first N] [--every N] [--samples N] [--op NAME]
"""
import argparse
import collections
import contextlib
import copy
import io
import logging
import sys
import warnings

import place  # noqa: F401
import torch

import hearth.torch  # noqa: F401

DTYPES = (torch.float32, torch.int64)


def outcomes(first=0, every=1, samples=5, only=None, say=lambda text: None):
    """A Counter of what became of the samples, the reasons of what was left, and a line for each that is wrong.

    right: all of it was compiled; partly: some ops were left to eager; eager: all of them; no graph: torch gave nothing to
    compile; refused: eager itself refuses the sample; random: eager differs from itself."""
    from torch.testing._internal.common_methods_invocations import op_db

    counts, reasons, wrong = collections.Counter(), collections.Counter(), []
    known = [op for op in op_db if only in (None, op.name)][first::every]
    for i, op in enumerate(known):
        for dtype in DTYPES:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            try:
                torch.manual_seed(0)
                given = [one for _, one in zip(range(samples), op.sample_inputs("cpu", dtype, requires_grad=False))]
            except Exception:
                counts["refused"] += 1
                continue
            for sample in given:
                what, why = _outcome(op, sample, reasons)
                counts[what] += 1
                if why:
                    wrong.append(f"{op.name} {str(dtype)[6:]}: {why}")
                    say("WRONG " + wrong[-1])
        say(f"{i + 1} of {len(known)} {op.name}: {dict(counts)}")
    return counts, reasons, wrong


def _outcome(op, sample, reasons):
    def eager():
        mine = copy.deepcopy(sample)
        return op.op(mine.input, *mine.args, **mine.kwargs), mine

    def function(input, args, kwargs):
        return op.op(input, *args, **kwargs)

    from hearth.torch import _collecting

    torch._dynamo.reset()
    reports = []
    with torch.no_grad():
        try:
            torch.manual_seed(1)
            expected, after = eager()
            torch.manual_seed(2)
            again, _ = eager()
        except Exception:
            return "refused", ""
        if _difference(again, expected) or "empty" in op.name:
            return "random", ""
        mine = copy.deepcopy(sample)
        try:
            torch.manual_seed(1)
            got = torch.compile(function, backend=_collecting(reports))(mine.input, mine.args, mine.kwargs)
        except Exception as error:
            reasons[f"{op.name}: {type(error).__name__}: {error}".splitlines()[0][:150]] += 1
            return "failed", f"{type(error).__name__}: {error}".splitlines()[0][:150]
    for report in reports:
        for text in [*report.eager, *([report.failed] if report.failed else [])]:
            reasons[text[:150]] += 1
    if op.name == "topk":
        got = _with_places_of(got, expected, sample)
    different = _difference(got, expected) or _difference(mine.input, after.input)
    if different:
        return "wrong", different
    compiled, left = sum(bool(one.functions) for one in reports), sum(one.left for one in reports)
    if not any(report.nodes for report in reports):
        return "no graph", ""
    return ("partly" if compiled else "eager") if left else "right", ""


def _with_places_of(got, expected, sample):
    """Of equal elements torch's topk takes any: the other's places, where ours are other ones of the same values."""
    values, places = got
    dim = sample.args[1] if len(sample.args) > 1 else sample.kwargs.get("dim", -1)
    if not values.ndim or not torch.equal(sample.input.gather(dim, places), values):
        return got
    ordered = places.sort(dim).values
    first, second = ordered.narrow(dim, 0, max(ordered.shape[dim] - 1, 0)), ordered.narrow(dim, min(1, ordered.shape[dim]), max(ordered.shape[dim] - 1, 0))
    return got if bool((first == second).any()) else (values, expected[1])


def _difference(got, expected):
    """"" where they are close: within 1e-4 of each element, or 1e-5 of the largest; dtypes, shapes and strides equal."""
    if isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            return f"{len(got)} results, not {len(expected)}"
        return next((text for text in map(_difference, got, expected) if text), "")
    if not isinstance(expected, torch.Tensor):
        return "" if isinstance(got, torch.Tensor) is False else "a tensor"
    if got.layout != torch.strided or expected.layout != torch.strided:
        return "" if got.layout == expected.layout else "another layout"
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype} {list(got.shape)}, not {expected.dtype} {list(expected.shape)}"
    if got.stride() != expected.stride() and got.numel() > 1:
        return f"strides {got.stride()}, not {expected.stride()} of {list(got.shape)}"
    scale = 1.0
    if expected.numel() and expected.dtype != torch.bool:
        sizes = expected.abs() if expected.is_complex() else expected.double().abs()
        sizes = sizes[torch.isfinite(sizes)]
        scale = float(sizes.max()) if sizes.numel() else 1.0
    try:
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5 * max(scale, 1.0), equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())[:200]
    return ""


@contextlib.contextmanager
def quiet():
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("first", 0), ("every", 1), ("samples", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--op")
    given = parser.parse_args()
    with quiet():
        counts, reasons, wrong = outcomes(given.first, given.every, given.samples, given.op,
                                          lambda text: print(text, flush=True) if text.startswith("WRONG") or given.op else None)
    for text, count in reasons.most_common(100):
        print(f"{count} x {text}")
    print(dict(counts))
    place.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
