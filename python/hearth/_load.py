"""hearth.load: a model's file to a function."""

import os

from . import _dims, _hearth, _progress
from ._errors import CallError, InvalidArgument

_WEIGHTS = ("f32", "bf16", "int8")


def load(
    model,
    *,
    dims=None,
    constants=None,
    example=None,
    weights="f32",
    threads=None,
    device=None,
    sealed=None,
    deadline=None,
    progress=None,
    copy=True,
    name=None,
    socket=None,
    fast_math=None,
    parameters=None,
    carry=None,
    plan=None,
):
    """Prepares a model and returns the function that it is.

    The compile service of this machine (hearthd, started where none runs) compiles it, or finds it in its cache; a plan
    file is loaded without it. Ctrl-C ends the call.

    Args:
        model: the path of an ONNX model or of a plan file (str, Path), or the bytes of either. A plan file is machine code
            of whoever wrote it: see `plan`.
        dims: symbolic dimensions by name ("INPUT.AXIS" for one without): a length, (min, max) for one that varies from
            call to call, [1, 4, 8] for a range in parts that end there, a hearth.Range, or an expression of others.
        constants: inputs that are part of what is computed, by name: arrays or numbers. Calls may leave them out.
        example: arrays as calls will give them, by input. Their lengths stand for those that dims leave open, and the value
            of an input that decides what is computed (a shape, a condition) becomes a constant. A list is a sequence of
            tensors, None an optional input that is left out.
        weights: "f32", or what f32 weights are stored as: "bf16", "int8". Narrower ones cost accuracy: f.weights.
        threads: of one call; 0 for every CPU. None: HEARTH_THREADS, else every CPU; of a plan file, as it was saved.
        device: "cpu", "vulkan", "cuda", "hip", one with ":N", or several between commas, of which the first that works is used.
            None: HEARTH_DEVICE, else "cpu"; of a plan file, that for which it was saved.
        sealed: True: a plan that is not in the cache is an error; nothing is compiled.
        deadline: seconds for all of it; None: HEARTH_PREPARE_TIMEOUT_MS, else 120.
        progress: called as progress(state, kernels_done, kernels_total), state being "queued", "lowering", "compiling"
            or "loading". What it raises ends the call and is raised by it. None: a line on a terminal's stderr after half
            a second.
        copy: False: arrays that are not dense in C order are an error in calls, instead of being copied.
        name: what the service's log calls the model; None: the file's name.
        socket: of a daemon; None: HEARTH_SOCKET, else where this user's is.
        fast_math: True: sums in another order, less exact functions.
        parameters: weights by name, for a plan file that was saved without them.
        carry: outputs by the inputs of the next call that they become, {"present": "past"}, for f.stream(): where an
            output is its input with more behind, such as a cache of keys that grows by a token, it is made in the
            input's memory.
        plan: True: the model is a plan file, whatever its name, and its code is run. None: only a file that is named
            *.hearth may be one. False: none may.

    Returns:
        A hearth.Function.

    Raises:
        hearth.Error: FileNotFoundError, ValueError, TimeoutError, ConnectionError, … are bases of its classes.
    """
    path, data = None, None
    if plan is not None and not isinstance(plan, bool):
        raise CallError(f"plan is {plan!r}; expected True, False or None")
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        is_plan, may_be_plan = data.startswith(b"HEARTHPF"), bool(plan)
    else:
        try:
            path = os.fsencode(model)
        except TypeError:
            raise CallError(
                f"model is of type {type(model).__name__}; expected a path or the bytes of an ONNX model or plan file"
            ) from None
        if b"\0" in path:
            raise InvalidArgument("model: the path holds a zero byte")
        is_plan = _hearth.is_plan_file(path)
        may_be_plan = plan if plan is not None else path.endswith(b".hearth")
    if is_plan and not may_be_plan:
        raise InvalidArgument(
            f"{'model' if path is None else os.fsdecode(path)!r}: this is a plan file, machine code of whoever wrote it, and"
            " not a model; if you would run that person's programs, load it with plan=True"
        )
    is_plan = is_plan or bool(plan)
    if name is None:
        name = os.fsdecode(os.path.basename(path)) if path is not None else "model"
    if not isinstance(name, str):
        raise CallError(f"name is {name!r}; expected a str")
    name = name.encode("utf-8", "backslashreplace").decode()
    options = _options(threads, device, sealed, deadline, socket, fast_math)
    if is_plan:
        for what, value in (("dims", dims), ("constants", constants), ("example", example), ("progress", progress), ("carry", carry)):
            if value:
                raise InvalidArgument(f"{what}: a plan file has them as it was saved; expected none")
        if weights != "f32":
            raise InvalidArgument("weights: a plan file has them as it was saved; expected the default")
        return _hearth.load_plan(path, data, name, dict(parameters or {}), options, bool(copy))
    if parameters:
        raise InvalidArgument("parameters are for plan files; an ONNX model has its own")
    if weights not in _WEIGHTS:
        raise InvalidArgument(f"weights is {weights!r}; expected one of {', '.join(map(repr, _WEIGHTS))}")
    if progress is not None and not callable(progress):
        raise CallError(f"progress is {progress!r}; expected a function of (state, kernels_done, kernels_total)")
    if carry:
        if not isinstance(carry, dict):
            raise CallError(f"carry is {carry!r}; expected {{output: the input that it becomes}}")
        options["carry"] = carry
    rows, expressions = _dims.parse(dims)
    bar = None
    if progress is None and _progress.Bar.wanted():
        bar = progress = _progress.Bar(name)
    try:
        return _hearth.load_model(
            path, data, name, rows, expressions, dict(constants or {}), dict(example or {}), weights, options, progress, bool(copy)
        )
    finally:
        if bar is not None:
            bar.end()


def _options(threads, device, sealed, deadline, socket, fast_math):
    options = {}
    if threads is not None:
        if isinstance(threads, bool) or not hasattr(threads, "__index__") or not 0 <= threads.__index__() <= 1 << 20:
            raise InvalidArgument(f"threads is {threads!r}; expected an int, 0 for every CPU")
        options["threads"] = threads.__index__()
    if device is not None:
        if not isinstance(device, str):
            raise CallError(f"device is {device!r}; expected a str such as 'cpu' or 'vulkan:0'")
        options["device"] = device
    if deadline is not None:
        try:
            milliseconds = float(deadline) * 1000
        except (TypeError, ValueError):
            raise CallError(f"deadline is {deadline!r}; expected seconds") from None
        if not 0 < milliseconds < 2**53:
            raise InvalidArgument(f"deadline is {deadline!r}; expected more than 0 seconds")
        options["deadline_ms"] = max(1, int(milliseconds))
    if socket is not None:
        options["socket"] = os.fsdecode(socket)
    if sealed is not None:
        options["sealed"] = bool(sealed)
    if fast_math is not None:
        options["fast_math"] = bool(fast_math)
    return options


def _unpickle(data, device, threads, copy, name):
    options = {"device": device, "threads": threads}
    return _hearth.load_plan(None, data, name, {}, options, copy)
