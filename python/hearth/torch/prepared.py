"""A recorded graph that was prepared: how arguments go in, and results come out."""

import hearth
import sympy
import torch

from . import weights


def value_of(args, source):
    """A symbol's value: an int among the arguments, or a length of one."""
    return args[source] if type(source) is int else args[source[0]].shape[source[1]]


class PreparedGraph:
    """
    Args:
        recording: an importer.Recording with a graph.
        bound: (name, parameter) by place, of the weights.
        sources: where the value of a symbol is, see value_of().
        options: of Graph.prepare.
        num_arguments: of the FX graph.
    """

    def __init__(self, recording, bound, sources, options, num_arguments):
        function = recording.graph.prepare(**options)
        self._current = function, None  # the function with its weights and the Watch of them, of one moment
        self.bound, self.epoch = bound, -1
        self.results, self.inputs = recording.results, recording.inputs
        dims = {symbol: dim for symbol, dim in recording.shapes.dims.items() if symbol in sources}
        self.bounds = [(sources[symbol], dim.min, dim.max) for symbol, dim in dims.items()]
        self.equal = [(sources[a], sources[b]) for a, b in recording.shapes.equal if a in sources and b in sources]
        self.varies = bool(self.bounds or self.equal)
        names = {variable.name for variable in function.variables}
        known = {length for value in function.inputs for length in value.shape if isinstance(length, str)}
        self.lengths = [(str(symbol), sources[symbol]) for symbol in dims if str(symbol) in names - known]
        self.counts = {}
        for i, row in enumerate(self.results):
            if row[0] == "length":
                symbols = sorted(row[1].free_symbols, key=str)
                self.counts[i] = sympy.lambdify(symbols, row[1]), [sources[symbol] for symbol in symbols]
        self.is_plain = (
            len(self.inputs) + len(bound) == num_arguments
            and num_arguments > 0
            and all(order is None for _, order in self.inputs)
            and not self.lengths
            and all(row[0] == "out" and row[2] is row[3] is None for row in self.results)
        )

    def fits(self, args):
        """Whether the lengths are of its range."""
        return all(low <= value_of(args, source) <= high for source, low, high in self.bounds) and all(
            value_of(args, a) == value_of(args, b) for a, b in self.equal
        )

    @property
    def function(self):
        return self._current[0]

    def holds(self, args):
        """Whether the weights are still those that are bound."""
        watch = self._current[1]
        return watch is None or watch.holds(args)

    def bind(self, args):
        """Binds the weights as they are now."""
        epoch, changed, bound = weights.epoch, {}, {}
        # What is written while they are bound is seen by the next look at the Watch.
        watch = hearth.Watch({place: args[place] for place in self.bound}) if self.bound else None
        for place, (name, known) in self.bound.items():
            now = weights.parameter(args[place])
            bound[place] = name, now
            if now is not known:
                changed[name] = now
        function = self.function.rebind(changed, copy=False) if changed else self.function
        self._current, self.bound, self.epoch = (function, watch), bound, epoch

    def use_threads(self, threads):
        function, watch = self._current
        self._current = function.with_threads(threads), watch

    def __call__(self, args):
        """The results as a list; None where weights have changed, and bind() has to be called."""
        function, watch = self._current
        if self.is_plain:
            return function.call_list(args, watch)
        if watch is not None and not watch.holds(args):
            return None
        given = [args[place] if order is None else args[place].permute(order) for place, order in self.inputs]
        lengths = {name: int(value_of(args, source)) for name, source in self.lengths} if self.lengths else None
        made = function.call_list(given, None, lengths)
        if not given:
            made = [torch.from_dlpack(one) for one in made]
        return [self._result(i, row, made, args) for i, row in enumerate(self.results)]

    def _result(self, i, row, made, args):
        if row[0] == "out":
            if row[3] is not None:
                value = made[row[1]]
                return torch.empty_strided(value.shape, row[3], dtype=value.dtype).copy_(value)
            if row[2] is None:
                return made[row[1]]
            back = [0] * len(row[2])
            for to, source in enumerate(row[2]):
                back[source] = to
            return made[row[1]].permute(back)
        if row[0] == "argument":
            return args[row[1]]
        if row[0] == "length":
            function, sources = self.counts[i]
            return int(function(*(value_of(args, source) for source in sources)))
        return row[1]
