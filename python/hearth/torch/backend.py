"""torch.compile(model, backend="hearth")."""

import functools
import warnings

import hearth
import torch

from .compiled import CompiledGraph
from .importer import decompositions
from .report import Explanation, Report

OPTIONS = ("threads", "device", "sealed", "deadline", "progress", "socket", "fast_math", "subnormals", "name", "fullgraph")


def backend(graph_module, example_inputs, *, mode=None, options=None):
    """What torch.compile(model, backend="hearth", options={...}) calls with each graph.

    Args:
        mode: torch's word for how hard to try; taken and not used.
        options: threads (else torch.get_num_threads(), followed when it changes), device, sealed, deadline, progress, socket,
            fast_math, subnormals and name, as in hearth.load; fullgraph=True: what cannot be compiled is an error, as it is
            with torch.compile(fullgraph=True).

    Raises:
        CallError for an option that is none; with fullgraph Unimplemented, or what preparing raises, at the first call.
        Without it such a graph, or the ops of it that cannot be recorded, run in eager after one CompileWarning.
    """
    return _compile(graph_module, example_inputs, _checked(options), [])


def _compile(graph_module, example_inputs, options, reports):
    from functorch.compile import nop
    from torch._dynamo.backends.common import aot_autograd

    if _wants_full_graph():
        options = {**options, "fullgraph": True}

    def inference(graph, inputs):
        report = Report(graph)
        reports.append(report)
        context = torch._guards.TracingContext.try_get()
        metadata = context.fw_metadata if context is not None else None
        static = set(metadata.static_input_indices) if metadata is not None else set()
        if metadata is not None:
            static -= {i for i, info in enumerate(metadata.input_info) if info.mutates_data or info.mutates_metadata}
        compiled = CompiledGraph(graph, sorted(static), options, report)
        if not torch._functorch.config.bundled_autograd_cache:
            return compiled
        from .serialized import SerializableGraph  # torch.compile(...).aot_compile(...), which writes it to a file

        return SerializableGraph(compiled)

    compiler = aot_autograd(fw_compiler=nop, inference_compiler=inference, decompositions=_table())
    return compiler(graph_module, example_inputs)


def _checked(options):
    options = dict(options or {})
    for name in options:
        if name not in OPTIONS:
            raise hearth.CallError(f"options: there is no {name!r}; there are {', '.join(OPTIONS)}")
    return options


@functools.cache
def _table():
    from torch._decomp import core_aten_decompositions

    return decompositions(core_aten_decompositions())


def _wants_full_graph():
    """Whether the compile at hand is of torch.compile(fullgraph=True)."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        return bool(InstructionTranslator.current_tx().one_graph)
    except (ImportError, AttributeError):
        return False


def collecting(reports, options=None):
    """A backend of its own that appends the Report of each graph to a list."""
    checked = _checked(options)

    def collect(graph_module, example_inputs):
        return _compile(graph_module, example_inputs, checked, reports)

    return collect


def explain(model, *args, options=None, **kwargs):
    """Compiles a module or function anew for these arguments, calls it once, and gives an Explanation: for each graph what is
    compiled, what is left to eager and why, and where Dynamo cut it."""
    reports, breaks = [], []
    collect = collecting(reports, options)
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    before = dict(counters["graph_break"])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", hearth.CompileWarning)
        torch.compile(model, backend=collect)(*args, **kwargs)
    for reason, count in counters["graph_break"].items():
        if count > before.get(reason, 0):
            breaks.append(str(reason).split("\n")[0])
    return Explanation(reports, breaks)
