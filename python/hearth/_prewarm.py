"""hearth.prewarm: what a service will load, compiled before it starts."""

import os
import sys

from . import _hearth
from ._errors import CallError, Error, FailedPrecondition, InvalidArgument
from ._recordings import going_on

_REMEDY = "fill the cache with hearth prewarm"  # as errors of plans that a sealed cache lacks end


def prewarm(what, *examples, report=None, **options):
    """Compiles what a service will load, into the cache of this machine's compile service.

    Args:
        what: a model's path or bytes, with load()'s arguments (`dims`, `threads`, ...); a jitted function, with examples of its
            arguments; or a function of no arguments that loads and prepares all that is served: everything that it prepares
            counts. A list of these does them one after the other.
        report: a file to write a receipt to, as `hearth prewarm --report` does: what the cache holds now, and what failed.

    Returns:
        The hearth.Functions that were prepared.

    Raises:
        Error: what failed first, after everything was tried and the receipt is written.
    """
    all = list(what) if isinstance(what, (list, tuple)) else [what]
    covered, missing, first = [], [], None
    for one in all:
        made = []
        going_on.append(made)
        try:
            _do(one, examples, options)
        except Error as error:
            missing.append({"model": _name_of(one), "error": str(error)})
            first = first or error
        finally:
            going_on.remove(made)
        covered += made
    if report is not None:
        _write(report, len(all), covered, missing)
    if first is not None:
        raise first
    return [function for _, function in covered]


def _do(what, examples, options):
    from ._jit import BoundJit, JitFunction
    from ._lazy import LazyFunction
    from ._load import load

    if isinstance(what, (JitFunction, BoundJit)):
        if not examples:
            raise CallError("prewarm: of a jitted function; give examples of its arguments")
        what.prepare(*examples, **options)
    elif callable(what):
        if examples or options:
            raise CallError("prewarm: a function that prepares what is served takes no arguments")
        what()
    else:
        loaded = load(what, **options)
        if isinstance(loaded, LazyFunction):
            if not examples:
                raise InvalidArgument(
                    f"prewarm: the model has lengths that vary ({', '.join(loaded.info.dims)}); give dims={loaded._example_of_dims()},"
                    " or examples of its inputs"
                )
            loaded.prepare(*examples)


def _name_of(what):
    if isinstance(what, (str, os.PathLike)):
        return os.fspath(what)
    return getattr(what, "__qualname__", None) or "model"


def _write(path, models, covered, missing):
    import json

    receipt = {
        "receipt": 1,
        "version": _hearth.__version__,
        "models": models,
        "complete": not missing,
        "covered": [
            {"model": name, "plan_key": function._plan_key, "target": {"device": function.device}, "threads": function.threads,
             "kernels": function.stats.kernels, "compiled_kernels": function.stats.compiled_kernels}
            for name, function in covered
        ],
        "missing": missing,
    }  # fmt: skip
    text = json.dumps(receipt, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def command_of(name, dims, threads, weights, carry):
    """The line that fills the cache with a model, as a shell takes it."""
    import shlex

    words = ["hearth", "prewarm", name]
    for dim, value in (dims or {}).items():
        if isinstance(value, tuple):
            text = f"{value[0]}:{value[1]}" + (f":{value.multiple_of}" if getattr(value, "multiple_of", 1) != 1 else "")
        else:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += ["--dim", f"{dim}={text}"]
    if threads is not None:
        words += ["--threads", str(threads)]
    if weights != "f32":
        words += ["--weights", weights]
    for output, given in (carry or {}).items():
        words += ["--carry", f"{output}={given}"]
    return shlex.join(words)


def of_function(function):
    """What fills the cache with a jitted function."""
    module, name = getattr(function, "__module__", "MODULE"), getattr(function, "__qualname__", "FUNCTION")
    return (
        f"fill the cache with hearth.prewarm({name}, ...examples), or `python3 -m hearth prewarm {module}:SETUP`, SETUP being a"
        " function of no arguments that prepares what is served"
    )


def with_remedy(error, remedy):
    """The error, with what fills the cache where it says that a plan is not there."""
    if _REMEDY not in str(error):
        return error
    made = FailedPrecondition(str(error).replace(_REMEDY, remedy))
    made.code, made.kind = error.code, error.kind
    return made


def main(arguments):
    """python -m hearth prewarm MODULE:FUNCTION ... [--report FILE]. Gives the exit status."""
    import importlib

    names, report = [], None
    rest = iter(arguments)
    for word in rest:
        if word == "--report":
            report = next(rest, None)
            if report is None:
                print("hearth: --report: a file is missing", file=sys.stderr)
                return 2
        elif word.startswith("-"):
            print(f"hearth: {word}: of Python functions prewarm takes --report alone", file=sys.stderr)
            return 2
        else:
            names.append(word)
    sys.path.insert(0, os.getcwd())
    found = []
    for name in names:
        module, _, path = name.partition(":")
        try:
            one = importlib.import_module(module)
            for part in path.split("."):
                one = getattr(one, part)
        except (ImportError, AttributeError) as error:
            print(f"hearth: {name}: {error}", file=sys.stderr)
            return 2
        found.append(one)
    try:
        made = prewarm(found, report=report)
    except Error as error:
        print(f"hearth: {error}", file=sys.stderr)
        return 1
    compiled = sum(function.stats.compiled_kernels for function in made)
    print(f"{len(made)} plans are in the cache, {compiled} kernels were compiled")
    return 0
