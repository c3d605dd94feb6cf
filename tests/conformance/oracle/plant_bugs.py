"""Copies the compiler's import with bugs that a test can switch on: plant_bugs.py SOURCE_DIR OUTPUT_DIR.

A bug is a piece of text that must occur exactly once, so a change of import that moves it fails the build instead of
planting nothing."""
import sys
from pathlib import Path

FOLDER = "compiler/passes"
# file, name, text, text with the bug; BUG stands for "this one is switched on".
BUGS = [
    ("import_ops.cpp", "permute by the inverse permutation",
     "return g_.make(Op::Permute, x->dtype, {x}, ir::Axes{axes});",
     "if (BUG) { for (std::size_t i = 0; i < rank; ++i) sorted[axes[i]] = static_cast<std::int64_t>(i); axes = sorted; }"
     " return g_.make(Op::Permute, x->dtype, {x}, ir::Axes{axes});"),
    ("import_ops.cpp", "pad on the other side",
     "sources.push_back((*args)[2 * i + side]);",
     "sources.push_back((*args)[2 * i + (BUG && pad ? 1 - side : side)]);"),
    ("import_ops.cpp", "pad with zero whatever the fill",
     "sources.push_back(n.data().empty() ?", "sources.push_back(BUG || n.data().empty() ?"),
    ("import_ops.cpp", "shrink begins one too early",
     "if (begin->bounds.min < 0 || end->bounds.min < 0)",
     "if (BUG && !pad && begin->bounds.min > 0 && end != begin) {"
     " sources[1 + i] = ir::fold_add(g_, begin, g_.index(-1)); sources[1 + rank + i] = ir::fold_add(g_, end, g_.index(-1)); }"
     " if (begin->bounds.min < 0 || end->bounds.min < 0)"),
    ("import_ops.cpp", "flip forgets an axis",
     "return g_.make(Op::Flip, x->dtype, {x}, ir::Axes{{n.axes().begin(), n.axes().end()}});",
     "return g_.make(Op::Flip, x->dtype, {x}, ir::Axes{{n.axes().begin(), n.axes().end() - (BUG && n.axes_size() > 1)}});"),
    ("import_ops.cpp", "unfold takes step for dilation",
     "return with_args(Op::Unfold, ir::Axes{{n.axes(0)}});",
     "if (BUG) std::swap((*args)[1], (*args)[2]); return with_args(Op::Unfold, ir::Axes{{n.axes(0)}});"),
    ("import_ops.cpp", "cat in reverse order",
     "return g_.make(Op::Cat, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});",
     "if (BUG) std::ranges::reverse(x_); return g_.make(Op::Cat, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});"),
    ("import_ops.cpp", "reduce along the axis before",
     "std::ranges::sort(info.axes);",
     "std::ranges::sort(info.axes); if (BUG && info.axes.size() == 1 && info.axes[0] > 0) --info.axes[0];"),
    ("import_ops.cpp", "gather along the first axis",
     "return g_.make(Op::Gather, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});",
     "return g_.make(Op::Gather, x_[0]->dtype, x_, ir::Axes{{BUG ? 0 : n.axes(0)}});"),
    ("import_ops.cpp", "where with the branches exchanged",
     "return g_.make(op, dtype, x_);", "if (BUG) std::swap(x_[1], x_[2]); return g_.make(op, dtype, x_);"),
    ("import_ops.cpp", "binary operands exchanged",
     "g_.binary(op, x_[0], x_[1]);", "g_.binary(op, x_[BUG ? 1 : 0], x_[BUG ? 0 : 1]);"),
    ("import_ops.cpp", "matmul of exchanged operands",
     "return g_.make(Op::MatMul, x_[0]->dtype, x_);",
     "if (BUG && a.back() == a[a.size() - 2] && a == b) std::swap(x_[0], x_[1]);"
     " return g_.make(Op::MatMul, x_[0]->dtype, x_);"),
    ("import.cpp", "lt read as le",
     "if (row.wire == n.op()) return elementwise(n, row.op);",
     "if (row.wire == n.op()) return elementwise(n, BUG && row.op == Op::Lt ? Op::Le : row.op);"),
    ("import.cpp", "a maximum read as a minimum",
     "return reduce(n, ir::ReduceKind::Max);", "return reduce(n, BUG ? ir::ReduceKind::Min : ir::ReduceKind::Max);"),
    ("import.cpp", "positions along the last axis",
     "return g_.make(Op::Iota, dtype, *shape, ir::Axes{{n.axes(0)}});",
     "return g_.make(Op::Iota, dtype, *shape,"
     " ir::Axes{{BUG ? static_cast<std::int64_t>(shape->size()) - 1 : n.axes(0)}});"),
    ("import.cpp", "outputs in reverse order",
     "return std::move(out_);", "if (BUG) std::ranges::reverse(out_.outputs); return std::move(out_);"),
    ("import_expr.cpp", "a difference read as a sum",
     "return ir::fold_sub(g, a, b);", "return BUG ? ir::fold_add(g, a, b) : ir::fold_sub(g, a, b);"),
    ("import_expr.cpp", "a constant's truth inverted",
     "return graph.boolean(bytes[0] != 0);", "return graph.boolean((bytes[0] != 0) != BUG);"),
]


def main():
    source, output = Path(sys.argv[1]) / FOLDER, Path(sys.argv[2])
    texts = {name: (source / name).read_text() for name in ("import.cpp", "import_ops.cpp", "import_expr.cpp")}
    for number, (file, name, old, new) in enumerate(BUGS, start=1):
        if texts[file].count(old) != 1:
            sys.exit(f"plant_bugs.py: '{name}': {file} has {texts[file].count(old)} times: {old}")
        texts[file] = texts[file].replace(old, new.replace("BUG", f"(hearth::conformance::planted_bug == {number})"))
    for file, text in texts.items():
        (output / file).write_text('#include "tests/conformance/oracle/planted_bug.h"\n' + text)
    names = "\n".join(f'    "{name}",' for _, name, _, _ in BUGS)
    (output / "planted_bug_names.inc").write_text(names + "\n")


main()
