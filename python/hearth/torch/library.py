"""torch.ops.hearth.run(path, tensors): a plan file as an op of torch, which other compilers' graphs may call."""

import ast
import operator
import os
import threading

import hearth
import torch

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Div: operator.floordiv, ast.Mod: operator.mod}  # fmt: skip
_functions, _lock = {}, threading.Lock()


def _function(path):
    """The function of a plan file, loaded again where the file is another one."""
    status = os.stat(path)
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    with _lock:
        known = _functions.get(path)
        if known is None or known[0] != stamp:
            known = _functions[path] = stamp, hearth.load(path, plan=True)
        return known[1]


@torch.library.custom_op("hearth::run", mutates_args=())
def run(plan: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The results of a plan file, in order.

    Args:
        plan: its path. It is machine code of whoever wrote it: name only files that you would run.
        tensors: one for each input, in order; of processors.
    """
    made = _function(plan).call_list(list(tensors))
    return [one if isinstance(one, torch.Tensor) else torch.from_dlpack(one) for one in made]


@run.register_fake
def _(plan, tensors):
    function = _function(plan)
    if len(tensors) != len(function.inputs):
        raise hearth.CallError(f"hearth::run: {len(tensors)} tensors are given; the plan takes {len(function.inputs)}")
    lengths = {
        name: length
        for value, tensor in zip(function.inputs, tensors)
        for name, length in zip(value.shape, tensor.shape)
        if isinstance(name, str) and name.isidentifier()
    }
    return [
        torch.empty([_length(one, lengths) for one in value.shape], dtype=getattr(torch, str(value.dtype)), device="cpu")
        for value in function.outputs
    ]


def _length(text, known):
    """A length of a plan, "2*batch + 1", by those of the inputs."""
    if isinstance(text, int):
        return text

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise hearth.Unimplemented(f"hearth::run: the length {text!r} does not follow from the inputs' lengths")

    return value(ast.parse(text, mode="eval"))
