"""How functions show themselves: explain(), profile(), and HTML in notebooks."""

from html import escape


def _bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024


def _ops(count):
    for unit in ("", "k", "M", "G"):
        if count < 1000 or unit == "G":
            return f"{count:.3g}{unit}"
        count /= 1000


def _value(value):
    return f"{_printable(value.name)}: {value.dtype}[{', '.join(map(str, value.shape))}]"


class Profile(list):
    """Rows (kernel, launches, nanoseconds, operations), slowest first; .total_ns is the whole replay's."""

    def __init__(self, total_ns, rows):
        super().__init__(rows)
        self.total_ns = total_ns

    def _lines(self):
        yield ("kernel", "launches", "time, us", "share", "operations", "Gop/s")
        whole = sum(time for _, _, time, _ in self) or 1
        for kernel, launches, time, ops in self:
            rate = f"{ops / time:.2f}" if time else ""
            yield (kernel, str(launches), f"{time / 1e3:.2f}", f"{100 * time / whole:.1f} %", _ops(ops), rate)

    def __repr__(self):
        lines = list(self._lines())
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = "\n".join("  ".join(word.ljust(width) if i == 0 else word.rjust(width)
                                   for i, (word, width) in enumerate(zip(line, widths))).rstrip() for line in lines)
        return f"{text}\ntotal {self.total_ns / 1e3:.2f} us"

    def _repr_html_(self):
        return _table(list(self._lines()), f"total {self.total_ns / 1e3:.2f} us")


def _printable(name):
    """A model's name is its file's or who made it says it: control characters come out as repr() has them."""
    return name if name.isprintable() else repr(name)[1:-1]


def _table(lines, caption=""):
    head, *rows = lines
    cells = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(word)}</td>" for word in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _facts(f):
    yield "inputs", ", ".join(map(_value, f.inputs)) or "none"
    yield "outputs", ", ".join(map(_value, f.outputs))
    for variable in f.variables:
        unit = f", a multiple of {variable.unit}" if variable.unit > 1 else ""
        yield f"dimension {variable.name}", f"{variable.min} to {variable.max}{unit}"
    yield "device", f"{f.device}, {f.threads} thread{'s' if f.threads != 1 else ''}"
    facts = f._facts()
    yield "kernels", f"{facts['kernels']}, {facts['launches']} launches"
    yield "work", f"{_ops(facts['num_ops'])} operations a call at the largest lengths"
    yield "memory", f"{_bytes(facts['shared_bytes'])} shared by all calls, {_bytes(facts['instance_bytes'])} for each call at once"


def explain(f):
    """What the function is, in text: what it takes and gives, its kernels, work and memory."""
    rows = list(_facts(f))
    width = max(len(name) for name, _ in rows)
    return f"{_printable(f.name)}\n" + "\n".join(f"  {name.ljust(width)}  {text}" for name, text in rows)


def html(f):
    return _table([("", _printable(f.name)), *_facts(f)])
