"""What a jitted function says, once, of traces that it makes again and again."""

import os
import sys
import warnings

from ._errors import TraceWarning
from ._trees import Leaf, array_key

TRACES_TO_SAY = 8  # at which a function that is traced again and again says why


def warn(text, category=TraceWarning):
    """At the line outside of this package that called."""
    folder, level, frame = os.path.dirname(__file__) + os.sep, 1, sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(folder):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def described(names, args_tree, kwargs_tree, leaves):
    """[(name, its kind, its text)] of every argument, for messages."""
    made = []

    def walk(tree, name):
        if isinstance(tree, Leaf):
            dtype, shape = array_key(leaves[tree.place])
            made.append((name, "array", f"{dtype} {list(shape)}"))
        elif isinstance(tree, (list, tuple)):
            for i, one in enumerate(tree):
                walk(one, f"{name}[{i}]")
        elif isinstance(tree, dict):
            for word, one in tree.items():
                walk(one, f"{name}[{word!r}]")
        elif type(tree) in (bool, int, float, complex, str, bytes, type(None)):
            kind = "number" if type(tree) in (int, float) else "value"
            text = repr(tree)
            made.append((name, kind, text if len(text) <= 60 else text[:57] + "..."))
        else:
            made.append((name, "value", type(tree).__name__))

    for i, one in enumerate(args_tree):
        walk(one, names[i] if i < len(names) else f"argument {i}")
    for word, one in kwargs_tree.items():
        walk(one, word)
    return made


def difference(then, now):
    """(what differs, what to do about it)."""
    for old, new in zip(then, now):
        if old != new:
            name, kind, text = new
            if kind == "array" and text.partition(" ")[2] == old[2].partition(" ")[2]:
                remedy = f"convert {name} to one dtype"
            elif kind == "array" and old[1] == "array":
                remedy = f"let lengths vary: hearth.jit(..., dims={{{name!r}: {{0: hearth.Dim(\"n\", 1, 64)}}}})"
            elif kind == "number":
                remedy = f"pass {name} as an array without axes (numpy.array({text}, \"float32\")), or use hearth.jit(..., dynamic_scalars=True)"
            else:
                remedy = f"call it with one {name}"
            return f"{name} is {text}, and was {old[2]}", remedy
    if len(then) != len(now):
        return f"it is called with {len(now)} arguments, and was with {len(then)}", "call it with one number of them"
    return "an argument is of another kind", "call it with one kind of arguments"
