"""Lengths that vary: torch's symbols as hearth's Dims."""

import hearth
from sympy import Integer
from torch import SymInt
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
from torch.utils._sympy.numbers import int_oo

# A symbol without an upper bound: up to the power of two above the first value, and at least this.
LEAST_BOUND = 64
GREATEST = (1 << 31) - 1


class Shapes:
    """The Dims of one recording.

    Args:
        values: what lengths are at the call that is recorded for, by symbol; ranges hold them.
        ranges: of symbols, where the ShapeEnv's own are not those that hold: torch.export's.
        unify: symbols whose values are equal are one Dim, and `equal` has the pairs, to be checked at each call.
    """

    def __init__(self, values=None, unify=False, ranges=None):
        self.values, self.unify, self.ranges = values or {}, unify, ranges or {}
        self.dims, self.equal = {}, []

    def length(self, value):
        if not isinstance(value, SymInt):
            return int(value)
        env = value.node.shape_env
        return self._of(env.simplify(value.node.expr), env)

    def shape(self, fake):
        return tuple(self.length(length) for length in fake.shape)

    def _of(self, expr, env):
        if isinstance(expr, Integer):
            return int(expr)
        if expr.is_Symbol:
            if expr not in self.dims:
                self.dims[expr] = self._known(expr) or self._variable(expr, env)
            return self.dims[expr]
        parts = [self._of(one, env) for one in expr.args]
        if expr.is_Add or expr.is_Mul:
            made = parts[0]
            for part in parts[1:]:
                made = made + part if expr.is_Add else made * part
            return made
        if isinstance(expr, FloorDiv):
            return parts[0] // parts[1]
        if isinstance(expr, (Mod, PythonMod)):
            return parts[0] % parts[1]
        if expr.is_Pow and isinstance(parts[1], int) and parts[1] > 0:
            made = parts[0]
            for _ in range(parts[1] - 1):
                made = made * parts[0]
            return made
        if type(expr).__name__ in ("Max", "Min"):
            return self._extreme(expr, parts)
        raise NotImplementedError(f"the length {expr}")

    def _extreme(self, expr, parts):
        """Where the bounds decide which of the lengths it is."""
        greatest = type(expr).__name__ == "Max"
        for part in parts:
            others = [one for one in parts if one is not part]
            try:
                if all(part >= other if greatest else part <= other for other in others):
                    return part
            except hearth.TraceError:
                continue
        raise NotImplementedError(f"the length {expr}")

    def _known(self, symbol):
        """The Dim of a symbol whose value is the same, where they are unified."""
        if not self.unify or symbol not in self.values:
            return None
        for other, dim in self.dims.items():
            if self.values.get(other) == self.values[symbol]:
                self.equal.append((other, symbol))
                return dim
        return None

    def _variable(self, symbol, env):
        if symbol not in self.values:
            raise NotImplementedError(f"the length {symbol}, which depends on values")
        bounds = self.ranges.get(symbol) or env.var_to_range[symbol]
        low = max(int(bounds.lower), 0) if bounds.lower > -GREATEST else 0
        now = self.values[symbol]
        if bounds.upper is int_oo or bounds.upper > GREATEST:
            high = max(LEAST_BOUND, 1 << max(now - 1, 0).bit_length())
        else:
            high = int(bounds.upper)
        return hearth.Dim(str(symbol), low, max(high, now, low), multiple_of=_unit(symbol, env, now))


def _unit(symbol, env, now):
    """What torch has found the symbol to be a multiple of."""
    unit = 1
    for expr in getattr(env, "divisible", ()):
        if isinstance(expr, (Mod, PythonMod)) and expr.args[0] == symbol and isinstance(expr.args[1], Integer):
            unit = max(unit, int(expr.args[1]))
    return unit if now % unit == 0 else 1
