#include "compiler/passes/import.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "compiler/ir/shape.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import_expr.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "proto/versions.h"

namespace hearth::passes {
namespace {

using absl::InvalidArgumentError;
using ir::Op;
using ir::Shape;
using ir::UOpRef;

// Results carry the reason alone; import_graph() puts "node i (OP): " before it.
using Result = absl::StatusOr<UOpRef>;

class Importer {
 public:
  Importer(ir::Graph& graph, const v1::Graph& proto) : g_(graph), proto_(proto), shapes_(graph) {}

  absl::StatusOr<ImportedGraph> run() {
    if (proto_.version() != kGraphVersion) {
      return absl::FailedPreconditionError(
          fmt::format("traced graph has version {}, this compiler reads version {}; use a client and a daemon of the same release",
                      proto_.version(), kGraphVersion));
    }
    if (auto s = import_vars(); !s.ok()) return s;
    for (int i = 0; i < proto_.provenance_size(); ++i) {
      const auto& p = proto_.provenance(i);
      if (p.node() < static_cast<std::uint32_t>(proto_.nodes_size())) {
        locations_[p.node()].push_back(p.text().substr(0, 512));
      }
    }
    values_.reserve(proto_.nodes_size());
    for (int i = 0; i < proto_.nodes_size(); ++i) {
      auto found = locations_.find(i);
      ir::ProvenanceScope scope(g_, found == locations_.end() ? 0 : g_.provenance_set(found->second));
      Result value = import_node(i);
      if (value.ok()) {
        absl::Status fits = check_size(shapes_.of(*value), (*value)->dtype);
        if (!fits.ok()) value = fits;
      }
      if (!value.ok()) return at_node(i, value.status());
      values_.push_back(*value);
    }
    return import_outputs();
  }

 private:
  absl::Status at_node(int i, const absl::Status& why) const {
    auto found = locations_.find(i);
    return absl::Status(why.code(), fmt::format("node {} ({}){}: {}", i, v1::Op_Name(proto_.nodes(i).op()),
                                                found == locations_.end() ? "" : " from " + found->second.front(),
                                                std::string(why.message())));
  }

  absl::Status import_vars() {
    std::set<std::string> names;
    for (int i = 0; i < proto_.vars_size(); ++i) {
      const auto& v = proto_.vars(i);
      auto bad = [&](std::string why) { return InvalidArgumentError(fmt::format("variable {} '{}': {}", i, v.name(), why)); };
      if (v.name().empty() || v.name().size() > 256) return bad("a name of 1 to 256 bytes is needed");
      if (!names.insert(v.name()).second) return bad("the name is used twice");
      if (v.min() < 0) return bad(fmt::format("min {} is negative", v.min()));
      if (v.min() > v.max()) return bad(fmt::format("min {} > max {}", v.min(), v.max()));
      if (v.max() > kMaxExtent) return bad(fmt::format("max {} is over {}", v.max(), kMaxExtent));
      out_.vars.push_back(g_.var(v.name(), v.min(), v.max(), i));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ImportedGraph> import_outputs() {
    if (proto_.outputs_size() == 0) return InvalidArgumentError("the traced graph has no output");
    std::set<std::string> names;
    for (int i = 0; i < proto_.outputs_size(); ++i) {
      const auto& o = proto_.outputs(i);
      if (o.node() >= values_.size()) {
        return InvalidArgumentError(fmt::format("output {} '{}': node {} does not exist ({} nodes)", i, o.name(), o.node(), values_.size()));
      }
      if (!names.insert(o.name()).second) return InvalidArgumentError(fmt::format("output {} '{}': the name is used twice", i, o.name()));
      out_.outputs.push_back(values_[o.node()]);
      out_.output_names.push_back(o.name());
    }
    return std::move(out_);
  }

  absl::Status check_size(const Shape& shape, ir::DType dtype) const {
    if (static_cast<int>(shape.size()) > kMaxRank) return InvalidArgumentError(fmt::format("rank {} is over {}", shape.size(), kMaxRank));
    __int128 bytes = std::max(1, byte_size(dtype));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const ir::Bounds& b = shape[axis]->bounds;
      if (b.min < 0) return InvalidArgumentError(fmt::format("axis {} has length {}, which may be negative", axis, describe(shape[axis], 6)));
      bytes *= std::max<std::int64_t>(b.max, 1);
      if (bytes > kMaxTensorBytes) return InvalidArgumentError(fmt::format("the tensor would take more than 2^{} bytes", 44));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ir::DType> wire_dtype(v1::DType t) const {
    if (t < v1::BOOL || t > v1::F8E5M2) return InvalidArgumentError(fmt::format("dtype {} is unknown", static_cast<int>(t)));
    if (t == v1::F8E4M3 || t == v1::F8E5M2) return absl::UnimplementedError(fmt::format("dtype {} is not supported by this version", v1::DType_Name(t)));
    return ir::DType(static_cast<ir::Scalar>(t));
  }

  absl::StatusOr<std::vector<UOpRef>> exprs(const v1::Node& n) const {
    std::vector<UOpRef> list;
    for (int i = 0; i < n.args_size(); ++i) {
      auto e = import_expr(g_, n.args(i), out_.vars);
      if (!e.ok()) return InvalidArgumentError(fmt::format("argument {}: {}", i, std::string(e.status().message())));
      list.push_back(*e);
    }
    return list;
  }

  Result import_node(int i);
  Result leaf(const v1::Node& n, ir::DType dtype);
  Result elementwise(const v1::Node& n, Op op);
  Result movement(const v1::Node& n);
  Result reduce(const v1::Node& n, ir::ReduceKind kind);
  Result matmul();
  Result gather(const v1::Node& n);
  Result cat(const v1::Node& n);

  absl::Status need_inputs(const v1::Node& n, int count) const {
    if (n.inputs_size() != count) return InvalidArgumentError(fmt::format("{} inputs instead of {}", n.inputs_size(), count));
    return absl::OkStatus();
  }
  absl::Status need_axes(const v1::Node& n, int rank, bool distinct = true) const {
    std::set<std::int64_t> seen;
    for (std::int64_t a : n.axes()) {
      if (a < 0 || a >= rank) return InvalidArgumentError(fmt::format("axis {} is outside rank {}", a, rank));
      if (distinct && !seen.insert(a).second) return InvalidArgumentError(fmt::format("axis {} appears twice", a));
    }
    return absl::OkStatus();
  }
  static std::string text(const Shape& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      out += i ? ", " : "";
      out += shape[i]->is_const() ? std::to_string(shape[i]->int_value()) : describe(shape[i], 4);
    }
    return out + "]";
  }

  ir::Graph& g_;
  const v1::Graph& proto_;
  ir::ShapeCache shapes_;
  ImportedGraph out_;
  std::vector<UOpRef> values_;
  std::vector<UOpRef> x_;  // inputs of the node at hand
  std::map<std::uint32_t, std::vector<std::string>> locations_;
  std::set<std::string> names_;
};

struct OpRow {
  v1::Op wire;
  Op op;
};
constexpr OpRow kElementwise[] = {
    {v1::NEG, Op::Neg}, {v1::RECIP, Op::Recip}, {v1::SQRT, Op::Sqrt}, {v1::EXP, Op::Exp}, {v1::LOG, Op::Log}, {v1::SIN, Op::Sin},
    {v1::COS, Op::Cos}, {v1::TANH, Op::Tanh}, {v1::ERF, Op::Erf}, {v1::ABS, Op::Abs}, {v1::FLOOR, Op::Floor}, {v1::CEIL, Op::Ceil},
    {v1::ROUND, Op::Round}, {v1::TRUNC, Op::Trunc}, {v1::NOT, Op::Not}, {v1::SIGMOID, Op::Sigmoid}, {v1::ADD, Op::Add}, {v1::SUB, Op::Sub},
    {v1::MUL, Op::Mul}, {v1::DIV, Op::Div}, {v1::TRUNCDIV, Op::TruncDiv}, {v1::TRUNCMOD, Op::TruncMod}, {v1::FLOORDIV, Op::FloorDiv},
    {v1::FLOORMOD, Op::FloorMod}, {v1::MAX, Op::Max}, {v1::MIN, Op::Min}, {v1::POW, Op::Pow}, {v1::LT, Op::Lt}, {v1::LE, Op::Le},
    {v1::EQ, Op::Eq}, {v1::NE, Op::Ne}, {v1::AND, Op::And}, {v1::OR, Op::Or}, {v1::XOR, Op::Xor}, {v1::SHL, Op::Shl}, {v1::SHR, Op::Shr},
    {v1::WHERE, Op::Where}, {v1::CAST, Op::Cast}, {v1::BITCAST, Op::Bitcast}};

Result Importer::import_node(int i) {
  const v1::Node& n = proto_.nodes(i);
  x_.clear();
  for (std::uint32_t input : n.inputs()) {
    if (input >= static_cast<std::uint32_t>(i)) {
      return InvalidArgumentError(fmt::format("input {} is not an earlier node (a cycle or a wrong order)", input));
    }
    x_.push_back(values_[input]);
  }
  for (const OpRow& row : kElementwise) {
    if (row.wire == n.op()) return elementwise(n, row.op);
  }
  switch (n.op()) {
    case v1::INPUT:
    case v1::PARAMETER:
    case v1::CONSTANT:
    case v1::IOTA: {
      if (auto s = need_inputs(n, 0); !s.ok()) return s;
      auto dtype = wire_dtype(n.dtype());
      if (!dtype.ok()) return dtype.status();
      return leaf(n, *dtype);
    }
    case v1::RESHAPE:
    case v1::EXPAND:
    case v1::PERMUTE:
    case v1::PAD:
    case v1::SHRINK:
    case v1::FLIP:
    case v1::UNFOLD:
    case v1::CONTIGUOUS:
      if (auto s = need_inputs(n, 1); !s.ok()) return s;
      return movement(n);
    case v1::CAT: return cat(n);
    case v1::REDUCE_SUM: return reduce(n, ir::ReduceKind::Sum);
    case v1::REDUCE_PROD: return reduce(n, ir::ReduceKind::Prod);
    case v1::REDUCE_MAX: return reduce(n, ir::ReduceKind::Max);
    case v1::REDUCE_MIN: return reduce(n, ir::ReduceKind::Min);
    case v1::MATMUL:
      if (auto s = need_inputs(n, 2); !s.ok()) return s;
      return matmul();
    case v1::GATHER:
      if (auto s = need_inputs(n, 2); !s.ok()) return s;
      return gather(n);
    default: return InvalidArgumentError(fmt::format("op {} is unknown to this version", static_cast<int>(n.op())));
  }
}

Result Importer::leaf(const v1::Node& n, ir::DType dtype) {
  auto shape = exprs(n);
  if (!shape.ok()) return shape.status();
  if (auto s = check_size(*shape, dtype); !s.ok()) return s;
  if (n.op() == v1::IOTA) {
    if (n.axes_size() != 1) return InvalidArgumentError("exactly one axis is needed");
    if (auto s = need_axes(n, static_cast<int>(shape->size())); !s.ok()) return s;
    if (is_bool(dtype)) return InvalidArgumentError("dtype bool has no positions");
    return g_.make(Op::Iota, dtype, *shape, ir::Axes{{n.axes(0)}});
  }
  if (n.op() == v1::CONSTANT) {
    std::size_t element = byte_size(dtype);
    if (n.data().size() > kMaxConstantBytes) {
      return InvalidArgumentError(fmt::format("{} constant bytes are over the limit of {}; pass the data as a parameter", n.data().size(), kMaxConstantBytes));
    }
    if (n.data().size() == element) {  // filled
      UOpRef value = import_scalar(g_, dtype, n.data());
      if (shape->empty()) return value;
      std::vector<UOpRef> ones(shape->size() + 1, g_.index(1));
      ones[0] = value;
      std::vector<UOpRef> full = {g_.make(Op::Reshape, dtype, ones)};
      full.insert(full.end(), shape->begin(), shape->end());
      return g_.make(Op::Expand, dtype, full);
    }
    UOpRef count = num_elements(g_, *shape);
    if (!count->is_const() || static_cast<std::size_t>(count->int_value()) * element != n.data().size()) {
      return InvalidArgumentError(fmt::format("{} data bytes do not fill shape {} of {}", n.data().size(), text(*shape), to_string(dtype)));
    }
  } else {
    if (n.name().empty() || n.name().size() > 1024) return InvalidArgumentError("a name of 1 to 1024 bytes is needed");
    if (!names_.insert(n.name()).second) return InvalidArgumentError(fmt::format("the name '{}' is used twice", n.name()));
  }
  ir::BufferKind kind = n.op() == v1::INPUT ? ir::BufferKind::Input : n.op() == v1::PARAMETER ? ir::BufferKind::Parameter : ir::BufferKind::Constant;
  auto id = static_cast<std::uint32_t>(out_.buffers.size());
  out_.buffers.push_back({kind, n.name(), dtype, *shape, n.data()});
  return g_.make(Op::Buffer, dtype, *shape, ir::BufferInfo{kind, id});
}

Result Importer::elementwise(const v1::Node& n, Op op) {
  if (auto s = need_inputs(n, ir::min_sources(op)); !s.ok()) return s;
  for (std::size_t i = 1; i < x_.size(); ++i) {
    if (shapes_.of(x_[i]) != shapes_.of(x_[0])) {
      return InvalidArgumentError(fmt::format("input {} has shape {}, input 0 has {}", i, text(shapes_.of(x_[i])), text(shapes_.of(x_[0]))));
    }
  }
  ir::DType dtype = x_.back()->dtype;
  auto wrong = [&](std::string_view want) { return InvalidArgumentError(fmt::format("dtype {} where {} is needed", to_string(dtype), want)); };
  if (op == Op::Cast || op == Op::Bitcast) {
    auto target = wire_dtype(n.dtype());
    if (!target.ok()) return target.status();
    if (op == Op::Bitcast && byte_size(*target) != byte_size(dtype)) {
      return InvalidArgumentError(fmt::format("{} and {} differ in width", to_string(dtype), to_string(*target)));
    }
    if (*target == dtype) return x_[0];
    if (op == Op::Bitcast && (is_bool(dtype) || is_bool(*target))) return wrong("a number");
    return g_.make(op, *target, x_);
  }
  if (op == Op::Where) {
    if (!is_bool(x_[0]->dtype)) return InvalidArgumentError(fmt::format("the condition has dtype {}, not bool", to_string(x_[0]->dtype)));
    if (x_[1]->dtype != x_[2]->dtype) return InvalidArgumentError(fmt::format("branches have dtypes {} and {}", to_string(x_[1]->dtype), to_string(x_[2]->dtype)));
    return g_.make(op, dtype, x_);
  }
  if (x_[0]->dtype != dtype) return InvalidArgumentError(fmt::format("inputs have dtypes {} and {}", to_string(x_[0]->dtype), to_string(dtype)));
  switch (op) {
    case Op::Recip: case Op::Sqrt: case Op::Exp: case Op::Log: case Op::Sin: case Op::Cos: case Op::Tanh: case Op::Erf:
    case Op::Floor: case Op::Ceil: case Op::Round: case Op::Trunc: case Op::Sigmoid: case Op::Div: case Op::Pow:
      if (!is_float(dtype)) return wrong("a float");
      break;
    case Op::TruncDiv: case Op::TruncMod: case Op::FloorDiv: case Op::FloorMod: case Op::Shl: case Op::Shr:
      if (!is_int(dtype)) return wrong("an integer");
      break;
    case Op::And: case Op::Or: case Op::Xor: case Op::Not:
      if (is_float(dtype)) return wrong("bool or an integer");
      break;
    case Op::Neg: case Op::Abs: case Op::Add: case Op::Sub: case Op::Mul:
      if (is_bool(dtype)) return wrong("a number");
      break;
    default: break;
  }
  if (n.dtype() != v1::DTYPE_UNSPECIFIED) {
    ir::DType result = ir::op_class(op) == ir::OpClass::Compare ? ir::DType(ir::Scalar::Bool) : dtype;
    if (static_cast<int>(n.dtype()) != static_cast<int>(result.scalar)) {
      return InvalidArgumentError(fmt::format("stated dtype {} but the result is {}", v1::DType_Name(n.dtype()), to_string(result)));
    }
  }
  return x_.size() == 1 ? g_.unary(op, x_[0]) : g_.binary(op, x_[0], x_[1]);
}

Result Importer::movement(const v1::Node& n) {
  auto args = exprs(n);
  if (!args.ok()) return args.status();
  UOpRef x = x_[0];
  const Shape shape = shapes_.of(x);
  std::size_t rank = shape.size();
  auto with_args = [&](Op op, ir::Payload payload = {}) {
    std::vector<UOpRef> sources = {x};
    sources.insert(sources.end(), args->begin(), args->end());
    return g_.make(op, x->dtype, sources, std::move(payload));
  };
  switch (n.op()) {
    case v1::CONTIGUOUS: return g_.make(Op::Contiguous, x->dtype, {x});
    case v1::RESHAPE: {
      if (auto s = check_size(*args, x->dtype); !s.ok()) return s;
      if (!same_count(g_, shape, *args)) return InvalidArgumentError(fmt::format("{} and {} are not proved to hold equally many elements", text(shape), text(*args)));
      return with_args(Op::Reshape);
    }
    case v1::EXPAND: {
      if (auto s = check_size(*args, x->dtype); !s.ok()) return s;
      if (args->size() != rank) return InvalidArgumentError(fmt::format("new rank {} instead of {}", args->size(), rank));
      for (std::size_t i = 0; i < rank; ++i) {
        if (shape[i] != (*args)[i] && shape[i] != g_.index(1)) return InvalidArgumentError(fmt::format("axis {}: {} cannot become {}", i, text({shape[i]}), text({(*args)[i]})));
      }
      return with_args(Op::Expand);
    }
    case v1::PERMUTE: {
      std::vector<std::int64_t> axes(n.axes().begin(), n.axes().end()), sorted = axes, want(rank);
      std::ranges::sort(sorted);
      std::iota(want.begin(), want.end(), 0);
      if (sorted != want) return InvalidArgumentError(fmt::format("axes [{}] are not a permutation of rank {}", fmt::join(axes, ", "), rank));
      return g_.make(Op::Permute, x->dtype, {x}, ir::Axes{axes});
    }
    case v1::FLIP:
      if (auto s = need_axes(n, static_cast<int>(rank)); !s.ok()) return s;
      return g_.make(Op::Flip, x->dtype, {x}, ir::Axes{{n.axes().begin(), n.axes().end()}});
    case v1::PAD:
    case v1::SHRINK: {
      if (args->size() != 2 * rank) return InvalidArgumentError(fmt::format("{} arguments instead of {}", args->size(), 2 * rank));
      std::vector<UOpRef> sources = {x};
      if (n.op() == v1::PAD) {
        if (!n.data().empty() && n.data().size() != static_cast<std::size_t>(byte_size(x->dtype))) {
          return InvalidArgumentError(fmt::format("fill of {} bytes instead of {}", n.data().size(), byte_size(x->dtype)));
        }
        sources.push_back(n.data().empty() ? g_.zero_like(g_.constant(x->dtype, 0)) : import_scalar(g_, x->dtype, n.data()));
      }
      bool pad = n.op() == v1::PAD;
      for (std::size_t side = 0; side < 2; ++side) {
        for (std::size_t i = 0; i < rank; ++i) sources.push_back((*args)[2 * i + side]);  // pairs an axis -> all befores, all afters
      }
      for (std::size_t i = 0; i < rank; ++i) {
        UOpRef begin = (*args)[2 * i], end = (*args)[2 * i + 1];
        if (begin->bounds.min < 0 || end->bounds.min < 0) return InvalidArgumentError(fmt::format("axis {}: negative argument", i));
        if (pad) continue;
        if (ir::fold_sub(g_, end, begin)->bounds.min < 0) return InvalidArgumentError(fmt::format("axis {}: end before begin", i));
        if (end != shape[i] && ir::fold_sub(g_, shape[i], end)->bounds.min < 0) {
          return InvalidArgumentError(fmt::format("axis {}: end {} is not proved within length {}", i, text({end}), text({shape[i]})));
        }
      }
      return g_.make(pad ? Op::Pad : Op::Shrink, x->dtype, sources);
    }
    default: {  // UNFOLD
      if (n.axes_size() != 1 || args->size() != 3) return InvalidArgumentError("one axis and three arguments (size, step, dilation) are needed");
      if (auto s = need_axes(n, static_cast<int>(rank)); !s.ok()) return s;
      for (UOpRef a : *args) {
        if (a->bounds.min < 1) return InvalidArgumentError("size, step and dilation must be at least 1");
      }
      if (__int128{(*args)[2]->bounds.max} * (*args)[0]->bounds.max > kMaxExtent) return InvalidArgumentError("the window's span overflows");
      UOpRef span = ir::fold_add(g_, ir::fold_mul(g_, (*args)[2], ir::fold_add(g_, (*args)[0], g_.index(-1))), g_.index(1));
      if (ir::fold_sub(g_, shape[n.axes(0)], span)->bounds.min < 0) {
        return InvalidArgumentError(fmt::format("a window of {} is not proved to fit length {}", text({span}), text({shape[n.axes(0)]})));
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
      return InvalidArgumentError(fmt::format("input {} is {} {}, input 0 is {} {}", i, to_string(x_[i]->dtype), text(shapes_.of(x_[i])),
                                              to_string(x_[0]->dtype), text(first)));
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
  bool fits = a.size() >= 2 && a.size() == b.size() && x_[0]->dtype == x_[1]->dtype && !is_bool(x_[0]->dtype) && a.back() == b[b.size() - 2] &&
              std::equal(a.begin(), a.end() - 2, b.begin());
  if (!fits) {
    return InvalidArgumentError(fmt::format("{} {} x {} {} do not fit [.., m, k] x [.., k, n] of one numeric dtype", to_string(x_[0]->dtype), text(a),
                                            to_string(x_[1]->dtype), text(b)));
  }
  return g_.make(Op::MatMul, x_[0]->dtype, x_);
}

Result Importer::gather(const v1::Node& n) {
  if (n.axes_size() != 1) return InvalidArgumentError("exactly one axis is needed");
  if (auto s = need_axes(n, static_cast<int>(shapes_.of(x_[0]).size())); !s.ok()) return s;
  if (!is_int(x_[1]->dtype)) return InvalidArgumentError(fmt::format("indices have dtype {}, not an integer", to_string(x_[1]->dtype)));
  UOpRef length = shapes_.of(x_[0])[n.axes(0)];
  if (length->bounds.max < 1 && num_elements(g_, shapes_.of(x_[1]))->bounds.max > 0) {
    return InvalidArgumentError(fmt::format("axis {} has no element to take", n.axes(0)));
  }
  return g_.make(Op::Gather, x_[0]->dtype, x_, ir::Axes{{n.axes(0)}});
}

}  // namespace

absl::StatusOr<ImportedGraph> import_graph(ir::Graph& graph, const v1::Graph& proto) { return Importer(graph, proto).run(); }

}  // namespace hearth::passes
