"""One graph that torch hands over: prepared at its first call, when its weights are there."""

import threading
import time

import hearth
import torch

from . import weights
from .importer import dense_order, record
from .partition import partition
from .prepared import PreparedGraph, value_of

MOST_PLANS = 16  # of one graph, for ranges of lengths


class CompiledGraph:
    """A callable of the list of a graph's arguments, of any thread.

    Args:
        graph_module: of aten ops, with torch's "val" for every node.
        static: places of the arguments that are weights.
        options: of Graph.prepare, and `fullgraph`.
        report: a Report, which is filled in.
        is_part: of a graph that was cut: what cannot be recorded is eager without another cut or warning.
    """

    _boxed_call = True  # AOTAutograd's word for a callable of one list

    def __init__(self, graph_module, static, options, report, is_part=False):
        self.graph_module, self.static, self.options, self.report, self.is_part = graph_module, list(static), options, report, is_part
        self.placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.sources = _sources(self.placeholders)
        self._lock = threading.RLock()
        self._plans, self._plan, self._eager = [], None, None
        self._threads = torch.get_num_threads() if "threads" not in options else None

    def __call__(self, args):
        plan = self._plan
        if (
            plan is not None
            and plan.epoch == weights.epoch
            and (self._threads is None or self._threads == torch.get_num_threads())
            and (not plan.varies or plan.fits(args))
        ):
            try:
                made = plan(args)
            except hearth.Error as error:
                self._leave(error)
                return self._eager(*args)
            if made is not None:
                return made
        return self._call(args)

    def _call(self, args):
        try:
            with self._lock:
                plan = self._ready(args)
            if plan is not None:
                made = plan(args)
                # None: another thread has written to a weight since.
                return self.graph_module(*args) if made is None else made
        except Exception as error:  # a fault of ours must not break the program
            self._leave(error)
        return self._eager(*args)

    def _ready(self, args):
        """The plan for these arguments, its weights bound; None where torch runs the graph."""
        if self._eager is not None:
            return None
        if self._threads is not None and self._threads != torch.get_num_threads():
            self._threads = torch.get_num_threads()
            for one in self._plans:
                one.use_threads(self._threads)
        plan = next((one for one in self._plans if one.fits(args)), None)
        if plan is None:
            plan = self._prepare(args)
        elif plan.epoch != weights.epoch or not plan.holds(args):
            plan.bind(args)
        if plan is None:
            return None
        self._plan = plan
        self._plans = [plan, *(one for one in self._plans if one is not plan)][:MOST_PLANS]
        return plan

    def _leave(self, error):
        """Nothing of the graph can be prepared: torch runs it."""
        if self.options.get("fullgraph"):
            raise error
        self._plan = None
        self.report.failed = f"{type(error).__name__}: {error}"
        self._eager = self.graph_module
        self.report.warn()

    def _prepare(self, args):
        start = time.perf_counter()
        bound = {}
        for place in self.static:
            if args[place].is_inference():  # torch does not count writes to it: an argument as others
                continue
            try:
                bound[place] = f"w{place}", weights.parameter(args[place])
            except hearth.Error:  # complex numbers, sparse tensors: an argument as others, of which the recording says why
                continue
        parameters = {place: hearth.parameter(one, name, copy=False) for place, (name, one) in bound.items()}
        values = {symbol: int(value_of(args, source)) for symbol, source in self.sources.items()}
        orders = {place: dense_order(one) for place, one in enumerate(args) if isinstance(one, torch.Tensor) and place not in bound
                  and one.layout == torch.strided}  # fmt: skip
        recording = record(self.graph_module, parameters, orders=orders, values=values)
        if recording.unsupported and values:  # lengths that torch does not know to be equal, such as keys' and values'
            again = record(self.graph_module, parameters, orders=orders, values=values, unify=True)
            if len(again.unsupported) < len(recording.unsupported):
                recording = again
        self.report.record_s += time.perf_counter() - start
        if recording.unsupported:
            self._cut(recording.unsupported)
            return None
        if recording.graph is None:  # nothing is computed
            self._eager = self.graph_module
            return None
        start = time.perf_counter()
        options = {key: value for key, value in self.options.items() if key != "fullgraph"}
        if self._threads is not None:
            options["threads"] = self._threads
        plan = PreparedGraph(recording, bound, self.sources, options, len(self.placeholders))
        plan.bind(args)
        self.report.prepare_s += time.perf_counter() - start
        self.report.functions.append(plan.function)
        return plan

    def _cut(self, unsupported):
        if not self.is_part:
            for node, reason in unsupported.items():
                self.report.eager[f"{node.target}: {reason}"[:300]] += 1
            if self.options.get("fullgraph"):
                raise hearth.Unimplemented(self.report.text(most=50))
        self._eager = self.graph_module
        if self.is_part:
            self.report.eager["a part: " + "; ".join(f"{node.target}: {reason}" for node, reason in unsupported.items())[:300]] += 1
            return
        static = {self.placeholders[place].name for place in self.static}

        def compile_part(part, places):
            return CompiledGraph(part, places, self.options, self.report, is_part=True)

        self._eager, self.report.parts = partition(self.graph_module, unsupported, static, compile_part)
        self.report.warn()


def _sources(placeholders):
    """Where the value of each symbol is: an argument of its own, else a length of a tensor."""
    lengths, sources = {}, {}
    for place, node in enumerate(placeholders):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
            sources[value.node.expr] = place
        if isinstance(value, torch.Tensor):
            for axis, length in enumerate(value.shape):
                if isinstance(length, torch.SymInt) and length.node.expr.is_Symbol:
                    lengths.setdefault(length.node.expr, (place, axis))
    return {**lengths, **sources}
