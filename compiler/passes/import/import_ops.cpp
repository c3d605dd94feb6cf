#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"
#include "compiler/ir/length.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/import/importer.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hearth::passes {

using absl::InvalidArgumentError;
using ir::Op;
using ir::Shape;
using ir::UOpRef;

namespace {

// Elements that are read as they were stored, so that nothing wider is known of them.
bool lies_in_memory(UOpRef x) {
  constexpr Op kMoves[] = {Op::Reshape, Op::Expand, Op::Permute, Op::Pad, Op::Shrink, Op::Flip, Op::Unfold, Op::Gather};
  while (std::ranges::find(kMoves, x->op) != std::end(kMoves)) x = x->source(0);
  return x->is(Op::Buffer) || x->is(Op::Const);
}

}  // namespace

Result Importer::elementwise(const v1::Node& n, Op op) {
  if (auto s = need_inputs(n, ir::min_sources(op)); !s.ok()) return s;
  for (std::size_t i = 1; i < x_.size(); ++i) {
    if (shapes_.of(x_[i]) != shapes_.of(x_[0])) {
      return InvalidArgumentError(
          fmt::format("input {} has shape {}, input 0 has {}", i, text(shapes_.of(x_[i])), text(shapes_.of(x_[0]))));
    }
  }
  ir::DType dtype = x_.back()->dtype;
  auto wrong = [&](std::string_view want) {
    return InvalidArgumentError(fmt::format("dtype {} where {} is needed", to_string(dtype), want));
  };
  if (op == Op::Cast || op == Op::Bitcast) {
    HEARTH_ASSIGN_OR_RETURN(auto target, wire_dtype(n.dtype()));
    if (op == Op::Bitcast && byte_size(target) != byte_size(dtype)) {
      return InvalidArgumentError(fmt::format("{} and {} differ in width", to_string(dtype), to_string(target)));
    }
    if (target == dtype) return x_[0];
    if (op == Op::Bitcast && (is_bool(dtype) || is_bool(target))) return wrong("a number");
    const bool is_exact = op == Op::Cast && n.axes_size() == 1 && n.axes(0) == 1;
    const auto rounded = [&](UOpRef x) {
      const bool is_half = x->dtype == ir::Scalar::F16 || x->dtype == ir::Scalar::BF16;
      return is_exact && is_half && !lies_in_memory(x) ? g_.unary(Op::Rounded, x) : x;
    };
    return rounded(g_.make(op, target, {rounded(x_[0])}));
  }
  if (op == Op::Where) {
    if (!is_bool(x_[0]->dtype))
      return InvalidArgumentError(fmt::format("the condition has dtype {}, not bool", to_string(x_[0]->dtype)));
    if (x_[1]->dtype != x_[2]->dtype)
      return InvalidArgumentError(
          fmt::format("branches have dtypes {} and {}", to_string(x_[1]->dtype), to_string(x_[2]->dtype)));
    return g_.make(op, dtype, x_);
  }
  if (x_[0]->dtype != dtype)
    return InvalidArgumentError(fmt::format("inputs have dtypes {} and {}", to_string(x_[0]->dtype), to_string(dtype)));
  if (ir::is_transcendental(op) && !is_float(dtype)) return wrong("a float");
  switch (op) {
    case Op::Recip:
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::Div:
      if (!is_float(dtype)) return wrong("a float");
      break;
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::FloorDiv:
    case Op::FloorMod:
    case Op::Shl:
    case Op::Shr:
      if (!is_int(dtype)) return wrong("an integer");
      break;
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
      if (is_float(dtype)) return wrong("bool or an integer");
      break;
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      if (is_bool(dtype)) return wrong("a number");
      break;
    default:
      break;
  }
  if (n.dtype() != v1::DTYPE_UNSPECIFIED) {
    ir::DType result = ir::op_class(op) == ir::OpClass::Compare ? ir::DType(ir::Scalar::Bool) : dtype;
    if (static_cast<int>(n.dtype()) != static_cast<int>(result.scalar)) {
      return InvalidArgumentError(
          fmt::format("stated dtype {} but the result is {}", v1::DType_Name(n.dtype()), to_string(result)));
    }
  }
  return x_.size() == 1 ? g_.unary(op, x_[0]) : g_.binary(op, x_[0], x_[1]);
}

Result Importer::movement(const v1::Node& n) {
  HEARTH_ASSIGN_OR_RETURN(auto args, exprs(n));
  UOpRef x = x_[0];
  const Shape shape = shapes_.of(x);
  std::size_t rank = shape.size();
  auto with_args = [&](Op op, ir::Payload payload = {}) {
    std::vector<UOpRef> sources = {x};
    sources.insert(sources.end(), args.begin(), args.end());
    return g_.make(op, x->dtype, sources, std::move(payload));
  };
  switch (n.op()) {
    case v1::CONTIGUOUS:
      return g_.make(Op::Contiguous, x->dtype, {x});
    case v1::RESHAPE: {
      if (auto s = check_size(args, x->dtype); !s.ok()) return s;
      if (!same_count(g_, shape, args))
        return InvalidArgumentError(
            fmt::format("{} and {} are not proved to hold equally many elements", text(shape), text(args)));
      return with_args(Op::Reshape);
    }
    case v1::EXPAND: {
      if (auto s = check_size(args, x->dtype); !s.ok()) return s;
      if (args.size() != rank) return InvalidArgumentError(fmt::format("new rank {} instead of {}", args.size(), rank));
      for (std::size_t i = 0; i < rank; ++i) {
        if (shape[i] != args[i] && shape[i] != g_.index(1))
          return InvalidArgumentError(
              fmt::format("axis {}: {} cannot become {}", i, text({shape[i]}), text({args[i]})));
      }
      return with_args(Op::Expand);
    }
    case v1::PERMUTE: {
      std::vector<std::int64_t> axes(n.axes().begin(), n.axes().end()), sorted = axes, want(rank);
      std::ranges::sort(sorted);
      std::iota(want.begin(), want.end(), 0);
      if (sorted != want)
        return InvalidArgumentError(
            fmt::format("axes [{}] are not a permutation of rank {}", fmt::join(axes, ", "), rank));
      return g_.make(Op::Permute, x->dtype, {x}, ir::Axes{axes});
    }
    case v1::FLIP:
      if (auto s = need_axes(n, static_cast<int>(rank)); !s.ok()) return s;
      return g_.make(Op::Flip, x->dtype, {x}, ir::Axes{{n.axes().begin(), n.axes().end()}});
    case v1::PAD:
    case v1::SHRINK: {
      if (args.size() != 2 * rank)
        return InvalidArgumentError(fmt::format("{} arguments instead of {}", args.size(), 2 * rank));
      std::vector<UOpRef> sources = {x};
      if (n.op() == v1::PAD) {
        if (!n.data().empty() && n.data().size() != static_cast<std::size_t>(byte_size(x->dtype))) {
          return InvalidArgumentError(
              fmt::format("fill of {} bytes instead of {}", n.data().size(), byte_size(x->dtype)));
        }
        sources.push_back(n.data().empty() ? g_.zero_like(g_.constant(x->dtype, 0))
                                           : import_scalar(g_, x->dtype, n.data()));
      }
      bool pad = n.op() == v1::PAD;
      for (std::size_t side = 0; side < 2; ++side) {
        for (std::size_t i = 0; i < rank; ++i)
          sources.push_back(args[2 * i + side]);  // pairs an axis -> all befores, all afters
      }
      for (std::size_t i = 0; i < rank; ++i) {
        UOpRef begin = args[2 * i], end = args[2 * i + 1];
        if (!is_at_least(begin, g_.index(0)) || !is_at_least(end, g_.index(0)))
          return InvalidArgumentError(fmt::format("axis {}: negative argument", i));
        if (pad) continue;
        if (!is_at_least(end, begin)) return InvalidArgumentError(fmt::format("axis {}: end before begin", i));
        if (!is_at_least(shape[i], end)) {
          return InvalidArgumentError(
              fmt::format("axis {}: end {} is not proved within length {}", i, text({end}), text({shape[i]})));
        }
      }
      return g_.make(pad ? Op::Pad : Op::Shrink, x->dtype, sources);
    }
    default: {  // UNFOLD
      if (n.axes_size() != 1 || args.size() != 3)
        return InvalidArgumentError("one axis and three arguments (size, step, dilation) are needed");
      if (auto s = need_axes(n, static_cast<int>(rank)); !s.ok()) return s;
      for (UOpRef a : args) {
        if (a->bounds.min < 1) return InvalidArgumentError("size, step and dilation must be at least 1");
      }
      if (__int128{args[2]->bounds.max} * args[0]->bounds.max > kMaxExtent)
        return InvalidArgumentError("the window's span overflows");
      UOpRef span = ir::fold_add(g_, ir::fold_mul(g_, args[2], ir::fold_add(g_, args[0], g_.index(-1))), g_.index(1));
      if (ir::fold_sub(g_, shape[n.axes(0)], span)->bounds.min < 0) {
        return InvalidArgumentError(
            fmt::format("a window of {} is not proved to fit length {}", text({span}), text({shape[n.axes(0)]})));
      }
      return with_args(Op::Unfold, ir::Axes{{n.axes(0)}});
    }
  }
}

Result Importer::cat(const v1::Node& n) {
  if (x_.empty()) return InvalidArgumentError("no inputs");
  const Shape first = shapes_.of(x_[0]);
  if (n.axes_size() != 1) return InvalidArgumentError("exactly one axis is needed");
  if (auto s = need_axes(n, static_cast<int>(first.size())); !s.ok()) return s;
  for (std::size_t i = 1; i < x_.size(); ++i) {
    Shape shape = shapes_.of(x_[i]);
    bool same = shape.size() == first.size() && x_[i]->dtype == x_[0]->dtype;
    if (same) {
      shape[n.axes(0)] = first[n.axes(0)];
      same = shape == first;
    }
    if (!same) {
      return InvalidArgumentError(fmt::format("input {} is {} {}, input 0 is {} {}", i, to_string(x_[i]->dtype),
                                              text(shapes_.of(x_[i])), to_string(x_[0]->dtype), text(first)));
    }
  }
  return g_.make(Op::Cat, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});
}

Result Importer::reduce(const v1::Node& n, ir::ReduceKind kind) {
  if (auto s = need_inputs(n, 1); !s.ok()) return s;
  UOpRef x = x_[0];
  if (auto s = need_axes(n, static_cast<int>(shapes_.of(x).size())); !s.ok()) return s;
  if (is_bool(x->dtype) && (kind == ir::ReduceKind::Sum || kind == ir::ReduceKind::Prod)) {
    return InvalidArgumentError("bool has no sum or product; use max (any), min (all) or a cast");
  }
  ir::ReduceInfo info{kind, {n.axes().begin(), n.axes().end()}};
  std::ranges::sort(info.axes);
  return info.axes.empty() ? x : g_.make(Op::ReduceAxis, x->dtype, {x}, info);
}

Result Importer::matmul() {
  const Shape &a = shapes_.of(x_[0]), &b = shapes_.of(x_[1]);
  bool fits = a.size() >= 2 && a.size() == b.size() && x_[0]->dtype == x_[1]->dtype && !is_bool(x_[0]->dtype) &&
              a.back() == b[b.size() - 2] && std::equal(a.begin(), a.end() - 2, b.begin());
  if (!fits) {
    return InvalidArgumentError(fmt::format("{} {} x {} {} do not fit [.., m, k] x [.., k, n] of one numeric dtype",
                                            to_string(x_[0]->dtype), text(a), to_string(x_[1]->dtype), text(b)));
  }
  return g_.make(Op::MatMul, x_[0]->dtype, x_);
}

// The fourth input says what the value is, so only what a kernel is told must be right here.
Result Importer::attention(const v1::Node& n) {
  if (n.inputs_size() != 4 && n.inputs_size() != 5)
    return InvalidArgumentError(fmt::format("{} inputs instead of 4 or 5", n.inputs_size()));
  if (n.axes_size() != 2 || n.axes(0) < 0 || n.axes(0) > 1 || n.axes(1) < 0 || n.axes(1) > kMaxExtent)
    return InvalidArgumentError("axes are not whether it is causal (0 or 1) and the number of earlier keys");
  if (n.data().size() != sizeof(double)) return InvalidArgumentError("data is not the scale, 8 bytes");
  const Shape &q = shapes_.of(x_[0]), &k = shapes_.of(x_[1]), &v = shapes_.of(x_[2]), &out = shapes_.of(x_[3]);
  const std::size_t rank = q.size();
  bool fits = rank >= 3 && k.size() == rank && v.size() == rank && out.size() == rank && x_[3]->dtype == x_[0]->dtype &&
              std::equal(q.begin(), q.end() - 1, out.begin()) && v.back() == out.back() && q.back() == k.back() &&
              std::equal(k.begin(), k.end() - 1, v.begin()) && std::equal(q.begin(), q.end() - 3, k.begin());
  const auto heads = [&](const Shape& shape) {
    return fits && shape[rank - 3]->is_const() ? shape[rank - 3]->int_value() : 0;
  };
  fits = fits && heads(q) > 0 && heads(k) > 0 && heads(q) % heads(k) == 0;
  for (std::size_t i = 0; i < 3; ++i) fits = fits && is_float(x_[i]->dtype);
  if (!fits) {
    return InvalidArgumentError(
        fmt::format("q {}, k {}, v {} and the result {} are not floats of shapes [.., H, T, D], [.., K, S, D], "
                    "[.., K, S, Dv] and [.., H, T, Dv] with K a divisor of H",
                    text(q), text(k), text(v), text(out)));
  }
  double scale = 0;
  std::memcpy(&scale, n.data().data(), sizeof scale);
  return g_.make(Op::Attention, x_[0]->dtype, x_, ir::AttentionInfo{n.axes(0) == 1, n.axes(1), scale});
}

Result Importer::gather(const v1::Node& n) {
  if (n.axes_size() != 1) return InvalidArgumentError("exactly one axis is needed");
  if (auto s = need_axes(n, static_cast<int>(shapes_.of(x_[0]).size())); !s.ok()) return s;
  if (!is_int(x_[1]->dtype))
    return InvalidArgumentError(fmt::format("indices have dtype {}, not an integer", to_string(x_[1]->dtype)));
  UOpRef length = shapes_.of(x_[0])[n.axes(0)];
  if (length->bounds.max < 1 && num_elements(g_, shapes_.of(x_[1]))->bounds.max > 0) {
    return InvalidArgumentError(fmt::format("axis {} has no element to take", n.axes(0)));
  }
  return g_.make(Op::Gather, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});
}

Result Importer::scatter(const v1::Node& n) {
  constexpr std::optional<ir::ReduceKind> kCombines[] = {std::nullopt, ir::ReduceKind::Sum, ir::ReduceKind::Prod,
                                                         ir::ReduceKind::Min, ir::ReduceKind::Max};
  if (n.axes_size() != 1 || n.axes(0) < 0 || n.axes(0) >= static_cast<std::int64_t>(std::size(kCombines)))
    return InvalidArgumentError("axes are not one number from 0 to 4 that says how updates are written");
  ir::ScatterInfo info{kCombines[n.axes(0)]};
  if (!is_int(x_[1]->dtype))
    return InvalidArgumentError(fmt::format("indices have dtype {}, not an integer", to_string(x_[1]->dtype)));
  if (info.combines && is_bool(x_[0]->dtype)) return InvalidArgumentError("dtype bool cannot be combined");
  const Shape &data = shapes_.of(x_[0]), &indices = shapes_.of(x_[1]), &updates = shapes_.of(x_[2]);
  bool fits = !data.empty() && updates.size() == indices.size() + data.size() - 1 && x_[0]->dtype == x_[2]->dtype;
  fits = fits && std::equal(indices.begin(), indices.end(), updates.begin()) &&
         std::equal(data.begin() + 1, data.end(), updates.begin() + static_cast<std::ptrdiff_t>(indices.size()));
  if (!fits) {
    return InvalidArgumentError(
        fmt::format("data {} {}, indices {} and updates {} {} are not [n, r..], [m..] and [m.., r..] of one dtype",
                    to_string(x_[0]->dtype), text(data), text(indices), to_string(x_[2]->dtype), text(updates)));
  }
  info.row_axes = static_cast<std::uint32_t>(data.size() - 1);
  for (UOpRef value : x_) {
    if (auto s = check_stored(shapes_.of(value), value->dtype); !s.ok()) return s;
  }
  std::vector<UOpRef> sources = x_;
  for (UOpRef& operand : sources) {  // an operand lies in memory
    if (operand->is_const()) operand = g_.make(Op::Contiguous, operand->dtype, {operand});
  }
  sources.insert(sources.end(), data.begin(), data.end());
  return g_.make(Op::Scatter, x_[0]->dtype, sources, info);
}

}  // namespace hearth::passes
