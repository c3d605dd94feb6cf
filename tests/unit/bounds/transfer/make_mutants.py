"""Writes mutants of compiler/ir/bounds.cpp as one C++ file: its text once for each mistake below, in a namespace of its
own. A mistake whose text no longer stands in the file exactly as often as said is an error: mend the list.

    make_mutants.py compiler/ir/bounds.cpp bounds_mutants.cpp
"""
import sys

# What it gets wrong; the text; what stands there instead. The text stands in the file once.
MUTANTS = [
    ("fit: an index above int64 wraps", "static_cast<std::int64_t>(std::clamp<Wide>(high, kMin, kMax))};",
     "static_cast<std::int64_t>(high)};"),
    ("fit: an index below int64 wraps", "{static_cast<std::int64_t>(std::clamp<Wide>(low, kMin, kMax)),",
     "{static_cast<std::int64_t>(low),"),
    ("fit: what wraps below is not seen", "low < int_min(dtype) || high > int_max(dtype)", "high > int_max(dtype)"),
    ("fit: what wraps above is not seen", "low < int_min(dtype) || high > int_max(dtype)", "low < int_min(dtype)"),
    ("fit: one above the greatest value fits", "high > int_max(dtype)) return full", "high > Wide(int_max(dtype)) + 1) return full"),
    ("fit: one below the least value fits", "low < int_min(dtype) ||", "low < Wide(int_min(dtype)) - 1 ||"),
    ("fit: u64 never wraps", "dtype.scalar == Scalar::U64 || low", "low"),
    ("floor_div: truncates", "0 : hearth::floor_div(a, b)", "0 : a / b"),
    ("floor_div: rounds down too often", "0 : hearth::floor_div(a, b)", "0 : a / b - ((a < 0) != (b < 0) ? 1 : 0)"),
    ("corners: without the first", "{f(a.min, b.min), f(a.min, b.max),", "{f(a.max, b.max), f(a.min, b.max),"),
    ("corners: without the second", "{f(a.min, b.min), f(a.min, b.max),", "{f(a.min, b.min), f(a.min, b.min),"),
    ("corners: without the third", "f(a.max, b.min), f(a.max, b.max)};", "f(a.max, b.max), f(a.max, b.max)};"),
    ("corners: without the fourth", "f(a.max, b.min), f(a.max, b.max)};", "f(a.max, b.min), f(a.max, b.min)};"),
    ("divide: a divisor of zero at the upper end", "b.min <= 0 && b.max >= 0", "b.min <= 0 && b.max > 0"),
    ("divide: a divisor of zero at the lower end", "b.min <= 0 && b.max >= 0", "b.min < 0 && b.max >= 0"),
    ("divide: zero between the ends", "if (b.min <= 0 && b.max >= 0) return full_bounds(dtype);\n  if (unbounded(a)",
     "if (unbounded(a)"),
    ("divide: an open dividend", "unbounded(a) || unbounded(b)", "unbounded(b)"),
    ("divide: an open divisor", "unbounded(a) || unbounded(b)", "unbounded(a)"),
    ("divide: open and negative", "bool both_non_negative = a.min >= 0 && b.min > 0;", "bool both_non_negative = b.min > 0;"),
    ("divide: by open and negative", "bool both_non_negative = a.min >= 0 && b.min > 0;",
     "bool both_non_negative = a.min >= 0;"),
    ("divide: at least 1", "Bounds{0, a.max} : full", "Bounds{1, a.max} : full"),
    ("divide: less than the dividend", "Bounds{0, a.max} : full", "Bounds{0, a.max / 2} : full"),
    ("divide: floor is truncation", "op == Op::FloorDiv ? floor_div", "false ? floor_div"),
    ("divide: truncation is floor", "op == Op::FloorDiv ? floor_div", "true ? floor_div"),
    ("modulo: by what may be negative", "if (b.min <= 0) return full_bounds(dtype);\n", ""),
    ("modulo: by what may be zero", "if (b.min <= 0) return", "if (b.min < 0) return"),
    ("modulo: every remainder is non-negative", "op == Op::FloorMod || a.min >= 0)", "true)"),
    ("modulo: a dividend as large as the divisor", "a.max < b.min) return a", "a.max <= b.min) return a"),
    ("modulo: a dividend less than the greatest divisor", "a.max < b.min) return a", "a.max < b.max) return a"),
    ("modulo: a small negative dividend", "if (a.min >= 0 && a.max < b.min)", "if (a.max < b.min)"),
    ("modulo: two less than the divisor", "b.max == kMax ? kMax : b.max - 1;\n    return",
     "b.max == kMax ? kMax : b.max - 2;\n    return"),
    ("modulo: at least 1", "return {0, a.min >= 0 ? std::min(top, a.max) : top}", "return {1, a.min >= 0 ? std::min(top, a.max) : top}"),
    ("modulo: no more than a negative dividend", "a.min >= 0 ? std::min(top, a.max) : top", "std::min(top, a.max)"),
    ("modulo: no more than the least divisor", "std::int64_t top = b.max == kMax ? kMax : b.max - 1;",
     "std::int64_t top = b.min - 1;"),
    ("modulo: truncated, above the least dividend", "std::max(a.min, -(b.max - 1))", "std::max(a.min + 1, -(b.max - 1))"),
    ("modulo: truncated, above the negative divisor", "std::max(a.min, -(b.max - 1))", "std::max(a.min, -(b.max - 2))"),
    ("modulo: truncated, negative alone", "a.max > 0 ? std::min(a.max, b.max - 1) : 0}", "a.max > 0 ? std::min(a.max, b.max - 1) : -1}"),
    ("modulo: truncated, less than the dividend", "a.max > 0 ? std::min(a.max, b.max - 1) : 0}",
     "a.max > 0 ? std::min(a.max - 1, b.max - 1) : 0}"),
    ("modulo: truncated, two less than the divisor", "a.max > 0 ? std::min(a.max, b.max - 1) : 0}",
     "a.max > 0 ? std::min(a.max, b.max - 2) : 0}"),
    ("compare: an open end of u64 is its last value", "x->dtype.scalar == Scalar::U64 && (a.max == kMax || b.max == kMax)", "false"),
    ("lt: of equal ends", "if (a.max < b.min && a.max != kMax) return known(true);", "if (a.max <= b.min && a.max != kMax) return known(true);"),
    ("lt: not, one below", "if (a.min >= b.max && !unsigned_top)", "if (a.min >= b.max - 1 && !unsigned_top)"),
    ("lt: the other way round", "if (a.min >= b.max && !unsigned_top) return known(false)",
     "if (a.min >= b.max && !unsigned_top) return known(true)"),
    ("le: one above", "if (a.max <= b.min && a.max != kMax)", "if (a.max - 1 <= b.min && a.max != kMax)"),
    ("le: not, of equal ends", "if (a.min > b.max && b.max != kMax)", "if (a.min >= b.max && b.max != kMax)"),
    ("le: an open end", "if (a.max <= b.min && a.max != kMax)", "if (a.max <= b.min)"),
    ("eq: never, of equal ends", "(a.max < b.min && a.max != kMax) ||", "(a.max <= b.min && a.max != kMax) ||"),
    ("eq: never, of equal ends the other way", "(b.max < a.min && b.max != kMax)) return known(op == Op::Ne)",
     "(b.max <= a.min && b.max != kMax)) return known(op == Op::Ne)"),
    ("eq: is ne", "return known(op == Op::Ne)", "return known(op == Op::Eq)"),
    ("eq: of equal intervals", "(is_single_value(a) && a == b && a.max != kMax)", "(a == b && a.max != kMax)"),
    ("eq: of values beyond int64", "(is_single_value(a) && a == b && a.max != kMax)", "(is_single_value(a) && a == b)"),
    ("join: the greater lower end", "{std::min(a.min, b.min), std::max(a.max, b.max)};", "{std::max(a.min, b.min), std::max(a.max, b.max)};"),
    ("join: the lesser upper end", "{std::min(a.min, b.min), std::max(a.max, b.max)};", "{std::min(a.min, b.min), std::min(a.max, b.max)};"),
    ("cast: zero is true", "x->bounds.min > 0 || x->bounds.max < 0", "x->bounds.min >= 0 || x->bounds.max < 0"),
    ("cast: zero at the upper end is true", "x->bounds.min > 0 || x->bounds.max < 0", "x->bounds.min > 0 || x->bounds.max <= 0"),
    ("cast: what wraps below", "x->bounds.min >= int_min(dtype) && x->bounds.max <= int_max(dtype)", "x->bounds.max <= int_max(dtype)"),
    ("cast: what wraps above", "x->bounds.min >= int_min(dtype) && x->bounds.max <= int_max(dtype)", "x->bounds.min >= int_min(dtype)"),
    ("cast: one above the greatest value", "x->bounds.max <= int_max(dtype) &&", "x->bounds.max - 1 <= int_max(dtype) &&"),
    ("cast: beyond int64", "x->bounds.max <= int_max(dtype) && x->bounds.max != kMax)", "x->bounds.max <= int_max(dtype))"),
    ("full: a narrower type", "return {int_min(dtype), int_max(dtype)};", "return {int_min(dtype), int_max(dtype) - 1};"),
    ("full: above the least value", "return {int_min(dtype), int_max(dtype)};", "return {int_min(dtype) + 1, int_max(dtype)};"),
    ("const: a great u64 is negative", "if (dtype.scalar == Scalar::U64 && value < 0) return {0, kMax};", ""),
    ("const: one more", "return {value, value};", "return {value + 1, value + 1};"),
    ("var: one less", "std::get<VarInfo>(payload).max};", "std::get<VarInfo>(payload).max - 1};"),
    ("range: one less", "b(0).max - 1)};", "b(0).max - 2)};"),
    ("range: from 1", "return {0, b(0).max == kMax", "return {1, b(0).max == kMax"),
    ("neg: open ends", "return unbounded(b(0)) ? full_bounds(dtype) : fit(dtype, -Wide(b(0).max), -Wide(b(0).min));",
     "return {static_cast<std::int64_t>(-std::uint64_t(b(0).max)), static_cast<std::int64_t>(-std::uint64_t(b(0).min))};"),
    ("neg: not at all", "fit(dtype, -Wide(b(0).max), -Wide(b(0).min))", "fit(dtype, b(0).min, b(0).max)"),
    ("neg: one more", "fit(dtype, -Wide(b(0).max), -Wide(b(0).min))", "fit(dtype, -Wide(b(0).max) + 1, -Wide(b(0).min))"),
    ("abs: open ends", "return is_unsigned_int(dtype) ? b(0) : full_bounds(dtype);", "return b(0);"),
    ("abs: of what may be negative", "if (b(0).min >= 0) return b(0);", "if (b(0).max >= 0) return b(0);"),
    ("abs: zero between the ends", "b(0).max <= 0 ? -Wide(b(0).max) : Wide(0)", "b(0).max <= 0 ? -Wide(b(0).max) : Wide(1)"),
    ("abs: the lesser end", "std::max<Wide>(-Wide(b(0).min), b(0).max)", "Wide(b(0).max)"),
    ("abs: the least value alone", "std::max<Wide>(-Wide(b(0).min), b(0).max)", "-Wide(b(0).min)"),
    ("not: of a bool, as it is", "return {1 - b(0).max, 1 - b(0).min};", "return b(0);"),
    ("not: the negative", "Bounds{~b(0).max, ~b(0).min}", "Bounds{-b(0).max, ~b(0).min}"),
    ("not: of unsigned as of signed", "return is_signed_int(dtype) ? Bounds{~b(0).max, ~b(0).min} : full_bounds(dtype);",
     "return Bounds{~b(0).max, ~b(0).min};"),
    ("add: of bools, both", "if (is_bool(dtype)) return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};\n      Bounds sum",
     "if (is_bool(dtype)) return {std::max(b(0).min, b(1).min), std::min(b(0).max, b(1).max)};\n      Bounds sum"),
    ("add: without the other's lower end", "Wide(b(0).min) + b(1).min,", "Wide(b(0).min),"),
    ("add: without the other's upper end", "Wide(b(0).max) + b(1).max)", "Wide(b(0).max))"),
    ("add: an open lower end closes", "if (b(0).min == kMin || b(1).min == kMin) sum.min = kMin;", ""),
    ("add: an open upper end closes", "if (b(0).max == kMax || b(1).max == kMax) sum.max = kMax;", ""),
    ("sub: the other's lower end", "Wide(b(0).min) - b(1).max,", "Wide(b(0).min) - b(1).min,"),
    ("sub: the other's upper end", "Wide(b(0).max) - b(1).min)", "Wide(b(0).max) - b(1).max)"),
    ("sub: an open lower end closes", "if (b(0).min == kMin || b(1).max == kMax) difference.min = kMin;", ""),
    ("sub: an open upper end closes", "if (b(0).max == kMax || b(1).min == kMin) difference.max = kMax;", ""),
    ("mul: open ends", "if (is_index(dtype) && (unbounded(b(0)) || unbounded(b(1)))) {", "if (false) {"),
    ("mul: one open and negative", "return b(0).min >= 0 && b(1).min >= 0 ? Bounds{0, kMax}", "return b(0).min >= 0 ? Bounds{0, kMax}"),
    ("mul: the sum", "return x * y; }", "return x + y; }"),
    ("max: the lesser lower end counts not", "return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};\n    case Op::Min",
     "return {std::max(b(0).min, b(1).min), b(0).max};\n    case Op::Min"),
    ("max: above both", "return {std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};\n    case Op::Min",
     "return {std::max(b(0).min, b(1).min) + 1, std::max(b(0).max, b(1).max)};\n    case Op::Min"),
    ("min: the greater lower end", "case Op::Min:\n      return {std::min(b(0).min, b(1).min),", "case Op::Min:\n      return {std::max(b(0).min, b(1).min),"),
    ("min: one less", "case Op::Min:\n      return {std::min(b(0).min, b(1).min), std::min(b(0).max, b(1).max)};",
     "case Op::Min:\n      return {std::min(b(0).min, b(1).min), std::min(b(0).max, b(1).max) - 1};"),
    ("and: of bools, either", "case Op::And:\n      if (is_bool(dtype)) return {std::min(b(0).min, b(1).min),",
     "case Op::And:\n      if (is_bool(dtype)) return {std::max(b(0).min, b(1).min),"),
    ("and: what may be negative", "return b(0).min >= 0 && b(1).min >= 0 ? Bounds{0, std::min", "return b(0).min >= 0 ? Bounds{0, std::min"),
    ("and: both lower ends", "? Bounds{0, std::min(b(0).max, b(1).max)}", "? Bounds{std::min(b(0).min, b(1).min), std::min(b(0).max, b(1).max)}"),
    ("and: less than both", "? Bounds{0, std::min(b(0).max, b(1).max)}", "? Bounds{0, std::min(b(0).min, b(1).max)}"),
    ("or: of integers as of bools", "return is_bool(dtype) ? Bounds{std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)} : full_bounds(dtype);",
     "return Bounds{std::max(b(0).min, b(1).min), std::max(b(0).max, b(1).max)};"),
    ("or: of bools, both", "return is_bool(dtype) ? Bounds{std::max(b(0).min, b(1).min), std::max", "return is_bool(dtype) ? Bounds{std::max(b(0).min, b(1).min), std::min"),
    ("where: the other", "return b(0).min ? b(1) : b(2);", "return b(0).min ? b(2) : b(1);"),
    ("where: the first alone", "return join(b(1), b(2));", "return b(1);"),
    ("where: the second alone", "return join(b(1), b(2));", "return b(2);"),
    ("stack: the first lane alone", "for (UOpRef x : s) all = join(all, x->bounds);", ""),
    ("reduce: never empty", "bool may_be_empty = op != Op::Horizontal;", "bool may_be_empty = false;"),
    ("reduce: the other's identity", "kind == ReduceKind::Max ? int_min(dtype) : int_max(dtype)",
     "kind == ReduceKind::Min ? int_min(dtype) : int_max(dtype)"),
    ("reduce: sums and products as min and max", "if (kind == ReduceKind::Max || kind == ReduceKind::Min) {", "if (true) {"),
    ("pad: without what it pads with", "return join(b(0), b(1));", "return b(0);"),
]


def main(source_path, target_path):
    with open(source_path, encoding="utf-8") as file:
        source = file.read()
    body = source.replace("full_bounds(", "full(").replace("derive_bounds(", "derive(")
    start = body.index("namespace hearth::ir {")
    parts, rows = [], []
    for number, (name, old, new) in enumerate(MUTANTS):
        old, new = (text.replace("full_bounds(", "full(") for text in (old, new))
        if body.count(old) != 1:
            sys.exit(f"make_mutants.py: '{name}': its text stands {body.count(old)} times in {source_path}, not once")
        changed = body[start:].replace(old, new)
        space = f"hearth::bounds_mutants::m{number}"
        changed = changed.replace("namespace hearth::ir {\nnamespace {",
                                  f"namespace {space} {{\nusing namespace hearth::ir;\nBounds full(DType dtype);\nnamespace {{")
        parts.append(changed.replace("}  // namespace hearth::ir", f"}}  // namespace {space}"))
        rows.append(f'    {{"{name}", hearth::bounds_mutants::m{number}::derive}},')
    with open(target_path, "w", encoding="utf-8") as file:
        file.write(body[:start] + '#include "tests/unit/bounds/transfer/bounds_mutants.h"\n' + "\n".join(parts))
        file.write("\nnamespace hearth::test {\nstd::span<const BoundsMutant> bounds_mutants() {\n")
        file.write("  static constexpr BoundsMutant kMutants[] = {\n" + "\n".join(rows) + "\n  };\n  return kMutants;\n}\n}\n")


main(sys.argv[1], sys.argv[2])
