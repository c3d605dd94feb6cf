"""Programs of torch.export: compiled without Dynamo, and saved as plan files."""

import os
import threading

import hearth
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.utils import _pytree as pytree

from .importer import decompositions, record


class ExportedFunction:
    """What load() gives: called as the exported module is, with tensors in the same structures.

    Buffers that the module writes to are state: they begin as the program has them, stay in the function from call to call,
    and calls of several threads follow each other. Outputs require no gradients.

    Attributes:
        function: the hearth.Function of the tensors among the arguments.
    """

    def __init__(self, program, function, taken, names, state):
        self.function, self._spec, self._taken, self._state = function, program.call_spec, taken, state
        self._names = names
        self._stream, self._lock = function.stream() if state else None, threading.Lock()
        self.reset()

    def reset(self):
        """Sets the state to what the program began with."""
        if self._stream is None:
            return
        with self._lock:
            self._stream.reset(**{name: value.detach().contiguous() for name, value in self._state.items()})

    def save(self, path):
        """Writes a plan file, which hearth.load(path) reads with neither torch nor a daemon. Its inputs and outputs have the
        program's names; state of it begins at zero there, unless its stream's reset() says otherwise."""
        self.function.save(path)

    def __call__(self, *args, **kwargs):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._spec.in_spec:
            raise hearth.CallError("the arguments have other structures than those that the program was exported with")
        given = [leaves[i].detach() if isinstance(leaves[i], torch.Tensor) else leaves[i] for i in self._taken]
        if self._stream is not None:
            with self._lock:
                made = self._stream(*given)
            made = [] if made is None else list(made) if isinstance(made, (tuple, list)) else [made]
        else:
            made = self.function.call_list(given)
        made = [one if isinstance(one, torch.Tensor) else torch.from_dlpack(one) for one in made]
        results = [made[row] if kind == "out" else row if kind == "value" else leaves[row] for kind, row in self._names]
        return pytree.tree_unflatten(results, self._spec.out_spec)


def load(program, *, name=None, **options):
    """Compiles a program of torch.export.

    Args:
        program: a torch.export.ExportedProgram, or the path of a .pt2 file.
        name: what the service's log calls it.
        options: threads (else torch.get_num_threads()), device, sealed, deadline, progress, socket, fast_math and subnormals, as
            in hearth.load.

    Returns: an ExportedFunction. Lengths that were exported as a Dim vary within its bounds; where it has no upper bound, up to
    64 or the power of two above the example's.

    Raises: hearth.Unimplemented, naming every op that cannot be compiled; what preparing raises.
    """
    if isinstance(program, (str, os.PathLike)):
        name = name or os.path.basename(os.fspath(program))
        program = torch.export.load(program)
    if not isinstance(program, torch.export.ExportedProgram):
        raise hearth.CallError(f"load: {type(program).__name__} is no torch.export.ExportedProgram and no path of one")
    program = program.run_decompositions(decompositions(torch.export.default_decompositions()))
    signature, graph = program.graph_signature, program.graph_module
    mutated = {spec.target: spec.arg.name for spec in signature.output_specs if spec.kind == OutputKind.BUFFER_MUTATION}
    parameters, names, state, user = {}, {}, {}, []
    for place, spec in enumerate(signature.input_specs):
        if spec.kind == InputKind.USER_INPUT:
            if not isinstance(spec.arg, ConstantArgument):
                names[place] = spec.arg.name
            user.append(place)
        elif spec.target in mutated:
            names[place] = spec.target
            state[spec.target] = _tensor_of(program, spec)
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            value = _tensor_of(program, spec).detach()
            parameters[place] = hearth.parameter(value if value.is_contiguous() else value.contiguous(), spec.target, copy=False)
    outputs = _output_names(signature)
    recording = record(graph, parameters, names=names, values=_hints(graph), ranges=program.range_constraints, outputs=outputs)
    if recording.unsupported:
        told = sorted({f"{node.target}: {reason}" for node, reason in recording.unsupported.items()})
        raise hearth.Unimplemented(f"load: {len(recording.unsupported)} ops cannot be compiled: {'; '.join(told)}")
    if recording.graph is None:
        raise hearth.InvalidArgument("load: the program computes nothing")
    if any(spec.kind == OutputKind.USER_INPUT_MUTATION for spec in signature.output_specs):
        raise hearth.Unimplemented("load: the program writes to one of its arguments")
    options.setdefault("threads", torch.get_num_threads())
    carry = {f"{target}.next": target for target in state}
    function = recording.graph.prepare(name=name or "exported", carry=carry or None, **options)
    given = [place for place, _ in recording.inputs if place in user]
    return ExportedFunction(program, function, [user.index(place) for place in given], _rows(recording, signature, user), state)


def _tensor_of(program, spec):
    if spec.target in program.state_dict:
        return program.state_dict[spec.target]
    return program.constants[spec.target]


def _output_names(signature):
    """A name for each result of the graph, each once: a program may return a tensor twice."""
    names = []
    for i, spec in enumerate(signature.output_specs):
        if spec.kind == OutputKind.BUFFER_MUTATION:
            name = f"{spec.target}.next"
        else:
            name = getattr(spec.arg, "name", None) or f"output{i}"
        names.append(f"{name}.{i}" if name in names else name)
    return names


def _rows(recording, signature, user):
    """For each result of the program: ("out", place among the calls' results), ("value", value) or ("argument", leaf)."""
    rows, at = [], 0
    for spec, row in zip(signature.output_specs, recording.results):
        if spec.kind != OutputKind.USER_OUTPUT:
            continue
        if row[0] == "out":
            if row[2] is not None:
                raise hearth.Internal("an exported program's result lies permuted")
            rows.append(("out", at))
            at += 1
        elif row[0] == "argument":
            if row[1] not in user:
                raise hearth.Unimplemented("load: the program returns one of its weights")
            rows.append(("argument", user.index(row[1])))
        else:
            rows.append(("value", row[1]))
    return rows


def _hints(graph_module):
    """What lengths were when the program was exported, by symbol."""
    values = {}
    for node in graph_module.graph.nodes:
        fake = node.meta.get("val")
        if node.op != "placeholder" or not isinstance(fake, torch.Tensor):
            continue
        for length in fake.shape:
            if isinstance(length, torch.SymInt) and length.node.expr.is_Symbol and length.node.hint is not None:
                values.setdefault(length.node.expr, int(length.node.hint))
    return values
