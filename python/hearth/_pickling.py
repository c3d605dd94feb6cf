"""Pickles of jitted functions, by where they are imported from, and of tensors, by their values."""

from . import _hearth


def reduce_jit(jitted):
    """By the name under which the module has it, or its function."""
    if jitted._owner is not None and jitted._self is not None:
        return _jit_of, (jitted._bound(), jitted._given)
    module, name = getattr(jitted, "__module__", None), getattr(jitted, "__qualname__", None)
    found = _find(module, name)
    if found is jitted:
        return _find, (module, name)
    if found is jitted._function:
        return _jit, (module, name, jitted._given)
    from pickle import PicklingError

    raise PicklingError(
        f"the jitted function {name} of {module} is not found under that name when it is imported; define it at a module's top,"
        " or pickle f.prepare(...), which holds the machine code"
    )


def _find(module, name):
    import importlib

    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        return None
    return found


def _jit(module, name, given):
    from ._jit import jit

    return jit(_find(module, name), **given)


def _jit_of(function, given):
    from ._jit import jit

    return jit(function, **given)


def reduce_tensor(tensor):
    value = tensor._value("a pickle")
    return _tensor, (value.tobytes(), tensor.dtype.name, tuple(tensor.shape))


def _tensor(data, dtype, shape):
    return _hearth.tensor_of_bytes(data, dtype, shape)
