"""hearth.load: a model's file to a function."""

import functools
import os

from . import _dims, _hearth, _progress
from ._errors import CallError, Error, FailedPrecondition, InvalidArgument, Unimplemented, printable
from ._recordings import note
from ._source import source_of

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
    subnormals=None,
    parameters=None,
    carry=None,
    plan=None,
    allow_links=False,
    **unknown,
):
    """Prepares a model and returns the function that it is.

    The compile service of this machine (hearthd, started where none runs) compiles it, or finds it in its cache; a plan
    file is loaded without it. Ctrl-C ends the call.

    Args:
        model: the path of an ONNX model or of a plan file (str, Path), or the bytes of either; an onnx.ModelProto or
            torch.onnx.ONNXProgram. A plan file is machine code of whoever wrote it: see `plan`.
        dims: symbolic dimensions by name ("INPUT.AXIS" for one without): a length, (min, max) for one that varies from
            call to call, [1, 4, 8] for a range in parts that end there, a hearth.Range, or an expression of others.
            Lengths that are left open are those of each call: see hearth.LazyFunction.
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
        progress: called as progress(state, done, total): of kernels while state is "queued", "lowering", "compiling" or
            "loading", of bytes of weights while it is "packing" (which few bytes have no time for). What it raises ends the
            call and is raised by it. None: a line on a terminal's stderr after half a second.
        copy: False: arrays that are not dense in C order are an error in calls, instead of being copied.
        name: what the service's log calls the model; None: the file's name.
        socket: of a daemon; None: HEARTH_SOCKET, else where this user's is.
        fast_math: True: sums in another order, less exact functions.
        subnormals: floats below 1.2e-38 on the CPU: "keep"; "results": zero where one would result, and for weights that are
            only multiplied and added; "all": operands, too. None: HEARTH_SUBNORMALS, else "results"; of a plan file, as it
            was saved.
        parameters: weights by name, for a plan file that was saved without them.
        carry: outputs by the inputs of the next call that they become, {"present": "past"}, for f.stream(): where an
            output is its input with more behind, such as a cache of keys that grows by a token, it is made in the
            input's memory.
        plan: True: the model is a plan file, whatever its name, and its code is run. None: only a file that is named
            *.hearth may be one. False: none may.
        allow_links: True: weights may lie in files that links out of the model's folder lead to. They are taken without it
            where the model's file is a link to one beside them, as caches of model hubs have it.

    Returns:
        A hearth.Function; a hearth.LazyFunction where lengths are left open.

    Raises:
        hearth.Error: FileNotFoundError, ValueError, TimeoutError, ConnectionError, … are bases of its classes.
    """
    for word, value in unknown.items():
        raise CallError(f"load: there is no argument {word!r}; lengths are given as dims={{{word!r}: {value!r}}}")
    for word, value in (("dims", dims), ("example", example), ("constants", constants)):
        if value is not None and not isinstance(value, dict):
            key = "a dimension" if word == "dims" else "an input"
            raise CallError(f"{word} is of type {type(value).__name__}; expected a dict by {key}'s name")
    if plan is not None and not isinstance(plan, bool):
        raise CallError(f"plan is {plan!r}; expected True, False or None")
    path, data, default_name = source_of(model)
    if path is None:
        is_plan, may_be_plan = data.startswith(b"HEARTHPF"), bool(plan)
    else:
        is_plan = _hearth.is_plan_file(path)
        may_be_plan = plan if plan is not None else path.endswith(b".hearth")
    if is_plan and not may_be_plan:
        raise InvalidArgument(
            f"{'model' if path is None else os.fsdecode(path)!r}: this is a plan file, machine code of whoever wrote it, and"
            " not a model; if you would run that person's programs, load it with plan=True"
        )
    is_plan = is_plan or bool(plan)
    if name is None:
        name = default_name
    if not isinstance(name, str):
        raise CallError(f"name is {name!r}; expected a str")
    name = name.encode("utf-8", "backslashreplace").decode()
    options = options_of(threads, device, sealed, deadline, socket, fast_math, subnormals)
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
        raise CallError(f"progress is {progress!r}; expected a function of (state, done, total)")
    if carry:
        if not isinstance(carry, dict):
            raise CallError(f"carry is {carry!r}; expected {{output: the input that it becomes}}")
        from ._carry import expand_carry

        carry = options["carry"] = expand_carry(carry, path, data)
    if example is None and not carry:
        lazy = _left_open(path, data, dims, constants)
        if lazy is not None:
            from ._lazy import LazyFunction

            arguments = {"constants": constants, "weights": weights, "threads": threads, "device": device, "sealed": sealed,
                         "deadline": deadline, "progress": progress, "copy": copy, "name": name, "socket": socket,
                         "fast_math": fast_math, "subnormals": subnormals, "allow_links": allow_links}  # fmt: skip
            source = os.fsdecode(path) if path is not None else data
            return LazyFunction(functools.partial(load, source), arguments, lazy, dims, source)
    rows, expressions = _dims.parse(dims)
    bar = None
    if progress is None:
        bar = progress = _progress.Bar(name) if _progress.Bar.wanted() else _progress.Slow(name)
    try:
        return note(name, _hearth.load_model(
            path, data, name, rows, expressions, dict(constants or {}), dict(example or {}), weights, options, progress,
            bool(copy), bool(allow_links)
        ))  # fmt: skip
    except FailedPrecondition as error:
        from ._prewarm import command_of, with_remedy

        line = command_of(os.fsdecode(path) if path is not None else "MODEL.onnx", dims, threads, weights, carry)
        raise with_remedy(error, f"fill the cache with: {line}") from None
    finally:
        if bar is not None:
            bar.end()


def _left_open(path, data, dims, constants):
    """What the file says of itself, where it has lengths that vary and `dims` gives none for some of them; else None. A name
    that the file has not is refused when the model is imported, which says what there is."""
    from ._inspect import inspect

    try:
        info = inspect(data if path is None else os.fsdecode(path))
    except Error:
        return None  # said where it is imported
    given = dict(dims or {})
    names = {*info.dims}
    for value in info.inputs:
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, str):
                names.update((dim, f"{value.name}.{axis}"))
                if f"{value.name}.{axis}" in given:
                    given[dim] = given[f"{value.name}.{axis}"]
    inputs = {value.name for value in info.inputs}
    if info.not_supported:
        where = "MODEL" if path is None else os.fsdecode(path)
        where, all = printable(where), printable("; ".join(f"{op}: {why}" for op, why in info.not_supported.items()))
        raise Unimplemented(f"{where}: the model uses operators that are not supported: {all}. `hearth onnx check {where}` names"
                            " the nodes, docs/onnx.md what there is")  # fmt: skip
    if info.refused or not names.issuperset(given) or not inputs.issuperset(constants or {}):
        return None
    return info if any(dim not in given for dim in info.dims) else None


OPTIONS = ("threads", "device", "sealed", "deadline", "socket", "fast_math", "subnormals")


def options_of(threads, device, sealed, deadline, socket, fast_math, subnormals):
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
    if subnormals is not None:
        if subnormals not in ("keep", "results", "all"):
            raise InvalidArgument(f"subnormals is {subnormals!r}; expected 'keep', 'results' or 'all'")
        options["subnormals"] = subnormals
    return options


def _unpickle(data, device, threads, copy, name):
    options = {"device": device, "threads": threads}
    return _hearth.load_plan(None, data, name, {}, options, copy)
