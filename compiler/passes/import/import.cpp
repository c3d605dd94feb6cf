#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "compiler/ir/length.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import_expr.h"
#include "compiler/passes/import/importer.h"
#include "compiler/rules/inequality.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "proto/versions.h"

namespace hearth::passes {

using absl::InvalidArgumentError;
using ir::Op;
using ir::Shape;
using ir::UOpRef;

namespace {

constexpr std::size_t kMaxLocationBytes = 512;
constexpr std::size_t kMaxNameBytes = 1024;  // of inputs, parameters and outputs, as in runtime/plan/plan.cpp

}  // namespace

absl::StatusOr<ImportedGraph> Importer::run() {
  if (proto_.version() != kGraphVersion) {
    return absl::FailedPreconditionError(fmt::format(
        "traced graph has version {}, this compiler reads version {}; use a client and a daemon of the same release",
        proto_.version(), kGraphVersion));
  }
  if (auto s = import_vars(); !s.ok()) return s;
  if (auto s = find_carried(); !s.ok()) return s;
  return import_nodes();
}

absl::StatusOr<ImportedGraph> Importer::run_as_body(const std::vector<UOpRef>& vars, std::vector<bool> is_fixed) {
  if (proto_.vars_size() != 0 || proto_.loops_size() != 0 || proto_.carried_size() != 0)
    return InvalidArgumentError("a loop's body has variables or loops of its own, or carries outputs");
  is_body_ = true;
  is_fixed_ = std::move(is_fixed);
  out_.vars = vars;
  return import_nodes();
}

absl::StatusOr<ImportedGraph> Importer::import_nodes() {
  for (int i = 0; i < proto_.provenance_size(); ++i) {
    const auto& p = proto_.provenance(i);
    if (p.node() >= static_cast<std::uint32_t>(proto_.nodes_size()) || p.text().empty()) continue;
    std::vector<std::string>& own = locations_[p.node()];
    if (own.size() < ir::Graph::kMaxProvenance) own.emplace_back(utf8_prefix(p.text(), kMaxLocationBytes));
  }
  values_.reserve(proto_.nodes_size());
  for (int i = 0; i < proto_.nodes_size(); ++i) {
    auto found = locations_.find(i);
    ir::ProvenanceScope scope(
        g_, g_.provenance_set(found == locations_.end() ? std::vector<std::string>{name_of(i)} : found->second));
    Result value = import_node(i);
    if (value.ok()) {
      absl::Status fits = check_size(shapes_.of(*value), (*value)->dtype);
      if (!fits.ok()) value = fits;
    }
    if (value.ok() && carried_.contains(i)) value = kept_in_place(i, *value);
    if (!value.ok()) return at_node(i, value.status());
    values_.push_back(*value);
  }
  return import_outputs();
}

absl::Status Importer::at_node(int i, const absl::Status& why) const {
  auto found = locations_.find(i);
  return absl::Status(
      why.code(), fmt::format("{}{}: {}", name_of(i), found == locations_.end() ? "" : " from " + found->second.front(),
                              std::string(why.message())));
}

std::string Importer::name_of(int i) const {
  const v1::Op op = proto_.nodes(i).op();
  return fmt::format("node {} ({})", i,
                     v1::Op_IsValid(op) ? v1::Op_Name(op) : fmt::format("op {}", static_cast<int>(op)));
}

absl::Status Importer::import_vars() {
  std::set<std::string> names;
  for (int i = 0; i < proto_.vars_size(); ++i) {
    const auto& v = proto_.vars(i);
    auto bad = [&](std::string why) {
      return InvalidArgumentError(fmt::format("variable {} '{}': {}", i, v.name(), why));
    };
    if (v.name().empty() || v.name().size() > 256) return bad("a name of 1 to 256 bytes is needed");
    if (!names.insert(v.name()).second) return bad("the name is used twice");
    if (v.min() < 0) return bad(fmt::format("min {} is negative", v.min()));
    if (v.min() > v.max()) return bad(fmt::format("min {} > max {}", v.min(), v.max()));
    if (v.max() > kMaxExtent) return bad(fmt::format("max {} is over {}", v.max(), kMaxExtent));
    out_.vars.push_back(g_.var(v.name(), v.min(), v.max(), i));
  }
  return absl::OkStatus();
}

absl::StatusOr<ImportedGraph> Importer::import_outputs() {
  if (proto_.outputs_size() == 0) return InvalidArgumentError("the traced graph has no output");
  std::set<std::string> names;
  for (int i = 0; i < proto_.outputs_size(); ++i) {
    const auto& o = proto_.outputs(i);
    if (o.node() >= values_.size()) {
      return InvalidArgumentError(
          fmt::format("output {} '{}': node {} does not exist ({} nodes)", i, o.name(), o.node(), values_.size()));
    }
    if (o.name().empty() || o.name().size() > kMaxNameBytes)
      return InvalidArgumentError(fmt::format("output {}: a name of 1 to {} bytes is needed", i, kMaxNameBytes));
    if (!names.insert(o.name()).second)
      return InvalidArgumentError(fmt::format("output {} '{}': the name is used twice", i, o.name()));
    const UOpRef value = values_[o.node()];
    if (auto s = check_stored(shapes_.of(value), value->dtype); !s.ok()) return at_node(static_cast<int>(o.node()), s);
    const auto whole = whole_.find(static_cast<int>(o.node()));
    out_.outputs.push_back(whole == whole_.end() ? value : whole->second);
    out_.output_names.push_back(o.name());
  }
  if (auto s = check_carried(); !s.ok()) return s;
  drop_unread_results();
  return std::move(out_);
}

bool Importer::is_at_least(UOpRef a, UOpRef b) const {
  if (ir::is_at_least(g_, a, b)) return true;
  return rules::Inequalities(g_).proves_non_negative(ir::fold_sub(g_, a, b));
}

absl::Status Importer::check_size(const Shape& shape, ir::DType dtype) const {
  if (static_cast<int>(shape.size()) > kMaxRank)
    return InvalidArgumentError(fmt::format("rank {} is over {}", shape.size(), kMaxRank));
  __int128 bytes = std::max(1, byte_size(dtype));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const ir::Bounds& b = shape[axis]->bounds;
    if (b.min < 0 && !is_at_least(shape[axis], g_.index(0)))
      return InvalidArgumentError(
          fmt::format("axis {} has length {}, which may be negative", axis, describe(shape[axis], 6)));
    if (b.max > kMaxExtent)
      return InvalidArgumentError(
          fmt::format("axis {} has length {}, which may be over {}", axis, describe(shape[axis], 6), kMaxExtent));
    bytes *= std::max<std::int64_t>(b.max, 1);
    if (bytes > kMaxTensorBytes)
      return InvalidArgumentError(fmt::format("the tensor would take more than 2^{} bytes", 44));
  }
  return absl::OkStatus();
}

absl::Status Importer::check_stored(const Shape& shape, ir::DType dtype) const {
  if (auto s = check_size(shape, dtype); !s.ok()) return s;
  const std::uint64_t bytes = stored_bytes(shape, dtype);
  if (bytes <= kMaxStoredBytes) return absl::OkStatus();
  return InvalidArgumentError(
      fmt::format("{} of {} takes {} bytes at the variables' upper bounds, a buffer holds at most {}; use smaller "
                  "lengths or bounds",
                  text(shape), to_string(dtype), bytes, kMaxStoredBytes));
}

absl::StatusOr<ir::DType> Importer::wire_dtype(v1::DType t) const {
  if (t < v1::BOOL || t > v1::F8E5M2)
    return InvalidArgumentError(fmt::format("dtype {} is unknown", static_cast<int>(t)));
  return ir::DType(static_cast<ir::Scalar>(t));
}

absl::StatusOr<std::vector<UOpRef>> Importer::exprs(const v1::Node& n) const {
  std::vector<UOpRef> list;
  for (int i = 0; i < n.args_size(); ++i) {
    auto e = import_expr(g_, n.args(i), out_.vars);
    if (!e.ok()) return InvalidArgumentError(fmt::format("argument {}: {}", i, std::string(e.status().message())));
    list.push_back(*e);
  }
  return list;
}

absl::Status Importer::need_inputs(const v1::Node& n, int count) const {
  if (n.inputs_size() != count)
    return InvalidArgumentError(fmt::format("{} inputs instead of {}", n.inputs_size(), count));
  return absl::OkStatus();
}

absl::Status Importer::need_axes(const v1::Node& n, int rank, bool distinct) const {
  std::set<std::int64_t> seen;
  for (std::int64_t a : n.axes()) {
    if (a < 0 || a >= rank) return InvalidArgumentError(fmt::format("axis {} is outside rank {}", a, rank));
    if (distinct && !seen.insert(a).second) return InvalidArgumentError(fmt::format("axis {} appears twice", a));
  }
  return absl::OkStatus();
}

std::string Importer::text(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += i ? ", " : "";
    out += shape[i]->is_const() ? std::to_string(shape[i]->int_value()) : describe(shape[i], 4);
  }
  return out + "]";
}

namespace {

struct OpRow {
  v1::Op wire;
  Op op;
};
constexpr OpRow kElementwise[] = {{v1::NEG, Op::Neg},
                                  {v1::RECIP, Op::Recip},
                                  {v1::SQRT, Op::Sqrt},
                                  {v1::EXP, Op::Exp},
                                  {v1::EXP2, Op::Exp2},
                                  {v1::LOG, Op::Log},
                                  {v1::LOG2, Op::Log2},
                                  {v1::SIN, Op::Sin},
                                  {v1::COS, Op::Cos},
                                  {v1::TANH, Op::Tanh},
                                  {v1::ERF, Op::Erf},
                                  {v1::ABS, Op::Abs},
                                  {v1::FLOOR, Op::Floor},
                                  {v1::CEIL, Op::Ceil},
                                  {v1::ROUND, Op::Round},
                                  {v1::TRUNC, Op::Trunc},
                                  {v1::NOT, Op::Not},
                                  {v1::SIGMOID, Op::Sigmoid},
                                  {v1::ADD, Op::Add},
                                  {v1::SUB, Op::Sub},
                                  {v1::MUL, Op::Mul},
                                  {v1::DIV, Op::Div},
                                  {v1::TRUNCDIV, Op::TruncDiv},
                                  {v1::TRUNCMOD, Op::TruncMod},
                                  {v1::FLOORDIV, Op::FloorDiv},
                                  {v1::FLOORMOD, Op::FloorMod},
                                  {v1::MAX, Op::Max},
                                  {v1::MIN, Op::Min},
                                  {v1::POW, Op::Pow},
                                  {v1::LT, Op::Lt},
                                  {v1::LE, Op::Le},
                                  {v1::EQ, Op::Eq},
                                  {v1::NE, Op::Ne},
                                  {v1::AND, Op::And},
                                  {v1::OR, Op::Or},
                                  {v1::XOR, Op::Xor},
                                  {v1::SHL, Op::Shl},
                                  {v1::SHR, Op::Shr},
                                  {v1::WHERE, Op::Where},
                                  {v1::CAST, Op::Cast},
                                  {v1::BITCAST, Op::Bitcast}};

}  // namespace

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
      HEARTH_ASSIGN_OR_RETURN(auto dtype, wire_dtype(n.dtype()));
      return leaf(n, dtype);
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
    case v1::CAT:
      return cat(n);
    case v1::REDUCE_SUM:
      return reduce(n, ir::ReduceKind::Sum);
    case v1::REDUCE_PROD:
      return reduce(n, ir::ReduceKind::Prod);
    case v1::REDUCE_MAX:
      return reduce(n, ir::ReduceKind::Max);
    case v1::REDUCE_MIN:
      return reduce(n, ir::ReduceKind::Min);
    case v1::MATMUL:
      if (auto s = need_inputs(n, 2); !s.ok()) return s;
      return matmul();
    case v1::GATHER:
      if (auto s = need_inputs(n, 2); !s.ok()) return s;
      return gather(n);
    case v1::SCATTER:
      if (auto s = need_inputs(n, 3); !s.ok()) return s;
      return scatter(n);
    case v1::ATTENTION:
      return attention(n);
    case v1::LOOP:
      return loop(n);
    default:
      return InvalidArgumentError(fmt::format("op {} is unknown to this version", static_cast<int>(n.op())));
  }
}

// One value everywhere.
UOpRef Importer::filled(UOpRef value, const Shape& shape) {
  if (shape.empty()) return value;
  std::vector<UOpRef> ones(shape.size() + 1, g_.index(1));
  ones[0] = value;
  std::vector<UOpRef> full = {g_.make(Op::Reshape, value->dtype, ones)};
  full.insert(full.end(), shape.begin(), shape.end());
  return g_.make(Op::Expand, value->dtype, full);
}

Result Importer::leaf(const v1::Node& n, ir::DType dtype) {
  HEARTH_ASSIGN_OR_RETURN(auto shape, exprs(n));
  const bool is_stored = n.op() == v1::INPUT || n.op() == v1::PARAMETER;
  if (auto s = is_stored ? check_stored(shape, dtype) : check_size(shape, dtype); !s.ok()) return s;
  if (n.op() == v1::IOTA) {
    if (n.axes_size() != 1) return InvalidArgumentError("exactly one axis is needed");
    if (auto s = need_axes(n, static_cast<int>(shape.size())); !s.ok()) return s;
    if (is_bool(dtype)) return InvalidArgumentError("dtype bool has no positions");
    return g_.make(Op::Iota, dtype, shape, ir::Axes{{n.axes(0)}});
  }
  if (n.op() == v1::CONSTANT) {
    std::size_t element = byte_size(dtype);
    if (n.data().size() > kMaxConstantBytes) {
      return InvalidArgumentError(
          fmt::format("{} constant bytes are over the limit of {}; pass the data as a parameter", n.data().size(),
                      kMaxConstantBytes));
    }
    if (n.data().size() == element) {  // filled
      UOpRef value = import_scalar(g_, dtype, n.data());
      return filled(value, shape);
    }
    UOpRef count = num_elements(g_, shape);
    if (!count->is_const() || static_cast<std::size_t>(count->int_value()) * element != n.data().size()) {
      return InvalidArgumentError(
          fmt::format("{} data bytes do not fill shape {} of {}", n.data().size(), text(shape), to_string(dtype)));
    }
  } else {
    if (n.name().empty() || n.name().size() > kMaxNameBytes)
      return InvalidArgumentError(fmt::format("a name of 1 to {} bytes is needed", kMaxNameBytes));
    if (!names_.insert(n.name()).second)
      return InvalidArgumentError(fmt::format("the name '{}' is used twice", n.name()));
  }
  const bool is_fixed = std::ranges::all_of(shape, [](UOpRef length) { return length->is_const(); });
  if (n.op() != v1::INPUT && !is_fixed)
    return InvalidArgumentError(fmt::format("a {}'s shape is constant and {} depends on a variable",
                                            n.op() == v1::PARAMETER ? "parameter" : "constant", text(shape)));
  const std::size_t number = out_.buffers.size() - num_constants_;
  if (n.op() == v1::CONSTANT) ++num_constants_;
  if (is_body_ && n.op() == v1::PARAMETER) return InvalidArgumentError("a loop's body takes parameters as operands");
  const bool is_fixed_input = number < is_fixed_.size() && is_fixed_[number];
  ir::BufferKind kind = n.op() == v1::INPUT       ? (is_fixed_input ? ir::BufferKind::Parameter : ir::BufferKind::Input)
                        : n.op() == v1::PARAMETER ? ir::BufferKind::Parameter
                                                  : ir::BufferKind::Constant;
  auto id = static_cast<std::uint32_t>(out_.buffers.size());
  out_.buffers.push_back({kind, n.name(), dtype, shape, n.op() == v1::CONSTANT ? n.data() : std::string()});
  const auto carried = carried_into_.find(static_cast<int>(values_.size()));
  if (carried != carried_into_.end()) return with_room(*carried->second, dtype, shape, {kind, id});
  return g_.make(Op::Buffer, dtype, shape, ir::BufferInfo{kind, id});
}

absl::StatusOr<ImportedGraph> import_graph(ir::Graph& graph, const v1::Graph& proto) {
  return Importer(graph, proto).run();
}

}  // namespace hearth::passes
