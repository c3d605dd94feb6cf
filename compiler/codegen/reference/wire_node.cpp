#include "compiler/codegen/reference/wire_node.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/reference/element_ops.h"
#include "compiler/codegen/reference/tensor_ops.h"

namespace hearth::codegen::reference {
namespace {

using ir::Op;
using ir::Scalar;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;

absl::Status bad(std::string why) { return absl::InvalidArgumentError(std::move(why)); }

// The numbers of graph.proto's DType, spelled out: nothing here relies on ir::Scalar having the same ones.
std::optional<Scalar> scalar_of(v1::DType dtype) {
  switch (dtype) {
    case v1::BOOL:
      return Scalar::Bool;
    case v1::I8:
      return Scalar::I8;
    case v1::I16:
      return Scalar::I16;
    case v1::I32:
      return Scalar::I32;
    case v1::I64:
      return Scalar::I64;
    case v1::U8:
      return Scalar::U8;
    case v1::U16:
      return Scalar::U16;
    case v1::U32:
      return Scalar::U32;
    case v1::U64:
      return Scalar::U64;
    case v1::F16:
      return Scalar::F16;
    case v1::BF16:
      return Scalar::BF16;
    case v1::F32:
      return Scalar::F32;
    case v1::F64:
      return Scalar::F64;
    case v1::F8E4M3:
      return Scalar::F8E4M3;
    case v1::F8E5M2:
      return Scalar::F8E5M2;
    default:
      return std::nullopt;
  }
}

struct Elementwise {
  Op op;
  int num_inputs;
};
std::optional<Elementwise> elementwise_of(v1::Op op) {
  static const std::map<v1::Op, Elementwise> kTable = {
      {v1::NEG, {Op::Neg, 1}},
      {v1::RECIP, {Op::Recip, 1}},
      {v1::SQRT, {Op::Sqrt, 1}},
      {v1::EXP, {Op::Exp, 1}},
      {v1::LOG, {Op::Log, 1}},
      {v1::SIN, {Op::Sin, 1}},
      {v1::COS, {Op::Cos, 1}},
      {v1::TANH, {Op::Tanh, 1}},
      {v1::ERF, {Op::Erf, 1}},
      {v1::ABS, {Op::Abs, 1}},
      {v1::FLOOR, {Op::Floor, 1}},
      {v1::CEIL, {Op::Ceil, 1}},
      {v1::ROUND, {Op::Round, 1}},
      {v1::TRUNC, {Op::Trunc, 1}},
      {v1::NOT, {Op::Not, 1}},
      {v1::SIGMOID, {Op::Sigmoid, 1}},
      {v1::EXP2, {Op::Exp2, 1}},
      {v1::LOG2, {Op::Log2, 1}},
      {v1::ADD, {Op::Add, 2}},
      {v1::SUB, {Op::Sub, 2}},
      {v1::MUL, {Op::Mul, 2}},
      {v1::DIV, {Op::Div, 2}},
      {v1::TRUNCDIV, {Op::TruncDiv, 2}},
      {v1::TRUNCMOD, {Op::TruncMod, 2}},
      {v1::FLOORDIV, {Op::FloorDiv, 2}},
      {v1::FLOORMOD, {Op::FloorMod, 2}},
      {v1::MAX, {Op::Max, 2}},
      {v1::MIN, {Op::Min, 2}},
      {v1::POW, {Op::Pow, 2}},
      {v1::LT, {Op::Lt, 2}},
      {v1::LE, {Op::Le, 2}},
      {v1::EQ, {Op::Eq, 2}},
      {v1::NE, {Op::Ne, 2}},
      {v1::AND, {Op::And, 2}},
      {v1::OR, {Op::Or, 2}},
      {v1::XOR, {Op::Xor, 2}},
      {v1::SHL, {Op::Shl, 2}},
      {v1::SHR, {Op::Shr, 2}},
      {v1::WHERE, {Op::Where, 3}},
      {v1::CAST, {Op::Cast, 1}},
      {v1::BITCAST, {Op::Bitcast, 1}},
  };
  const auto found = kTable.find(op);
  return found == kTable.end() ? std::nullopt : std::optional(found->second);
}

bool gives_bool(v1::Op op) { return op == v1::LT || op == v1::LE || op == v1::EQ || op == v1::NE; }

// The value of one node; `args` are its expressions at the variables' values.
class NodeValue {
 public:
  NodeValue(const v1::Node& node, std::vector<const HostTensor*> inputs, Dims args)
      : node_(node), in_(std::move(inputs)), args_(std::move(args)) {}

  absl::StatusOr<HostTensor> compute(const WireBindings& bindings) const {
    if (const auto row = elementwise_of(node_.op())) return elementwise(*row);
    switch (node_.op()) {
      case v1::INPUT:
      case v1::PARAMETER:
        return bound(bindings);
      case v1::CONSTANT:
        return constant();
      case v1::IOTA:
        return iota();
      case v1::REDUCE_SUM:
        return reduce(ir::ReduceKind::Sum);
      case v1::REDUCE_PROD:
        return reduce(ir::ReduceKind::Prod);
      case v1::REDUCE_MAX:
        return reduce(ir::ReduceKind::Max);
      case v1::REDUCE_MIN:
        return reduce(ir::ReduceKind::Min);
      case v1::MATMUL:
        return matmul();
      case v1::GATHER:
        return gather();
      case v1::SCATTER:
        return scatter();
      case v1::CAT:
        return cat();
      case v1::ATTENTION:
        if (in_.size() != 4 && in_.size() != 5) return bad("attention has 4 or 5 inputs");
        return *in_[3];
      default:
        return in_.size() == 1 ? movement(*in_[0]) : bad("an unknown op, or a movement without its one input");
    }
  }

 private:
  absl::StatusOr<Scalar> dtype() const {
    const std::optional<Scalar> scalar = scalar_of(node_.dtype());
    return scalar ? absl::StatusOr<Scalar>(*scalar) : bad(absl::StrCat("dtype ", int{node_.dtype()}));
  }

  absl::Status fits_memory(const Dims& shape) const {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) {
      if (dim < 0) return bad(absl::StrCat("a length of ", dim));
      if (dim != 0 && count > kMaxElements / dim) return absl::ResourceExhaustedError("too large to interpret");
      count *= dim;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<HostTensor> bound(const WireBindings& bindings) const {
    HEARTH_ASSIGN_OR_RETURN(const auto scalar, dtype());
    const auto found = bindings.find(node_.name());
    if (found == bindings.end()) return bad(absl::StrCat("'", node_.name(), "' is not bound"));
    const HostTensor& value = found->second;
    if (value.dtype != scalar || value.shape != args_ ||
        value.bytes.size() != static_cast<std::size_t>(value.num_elements() * ir::byte_size(scalar))) {
      return bad(absl::StrCat("'", node_.name(), "' has shape [", absl::StrJoin(args_, ", "), "], bound is [",
                              absl::StrJoin(value.shape, ", "), "] or another dtype"));
    }
    return value;
  }

  absl::StatusOr<HostTensor> constant() const {
    HEARTH_ASSIGN_OR_RETURN(const auto scalar, dtype());
    HEARTH_RETURN_IF_ERROR(fits_memory(args_));
    HostTensor value(scalar, args_);
    const auto width = static_cast<std::size_t>(ir::byte_size(scalar));
    if (node_.data().size() == value.bytes.size()) {
      std::copy(node_.data().begin(), node_.data().end(), value.bytes.begin());  // of no elements, too
    } else if (node_.data().size() == width) {
      for (std::size_t at = 0; at < value.bytes.size(); at += width) {
        std::memcpy(value.bytes.data() + at, node_.data().data(), width);
      }
    } else {
      return bad(absl::StrCat("a constant of ", node_.data().size(), " bytes"));
    }
    return value;
  }

  absl::StatusOr<HostTensor> iota() const {
    HEARTH_ASSIGN_OR_RETURN(const auto scalar, dtype());
    HEARTH_RETURN_IF_ERROR(fits_memory(args_));
    if (node_.axes_size() != 1 || !is_axis(node_.axes(0), args_)) return bad("one axis");
    return reference::iota(scalar, args_, node_.axes(0));
  }

  absl::StatusOr<HostTensor> elementwise(const Elementwise& row) const {
    if (static_cast<int>(in_.size()) != row.num_inputs) return bad(absl::StrCat(in_.size(), " inputs"));
    for (const HostTensor* x : in_) {
      if (x->shape != in_[0]->shape) return bad("inputs of different shapes");
    }
    Scalar result = gives_bool(node_.op()) ? Scalar::Bool : in_.back()->dtype;
    if (node_.op() == v1::CAST || node_.op() == v1::BITCAST) {
      HEARTH_ASSIGN_OR_RETURN(const auto scalar, dtype());
      result = scalar;
    }
    return reference::elementwise(row.op, result, in_);
  }

  static bool is_axis(std::int64_t axis, const Dims& shape) {
    return axis >= 0 && axis < static_cast<std::int64_t>(shape.size());
  }
  bool axes_are_of(const Dims& shape) const {
    return std::ranges::all_of(node_.axes(), [&](std::int64_t axis) { return is_axis(axis, shape); });
  }
  // Every second argument, from `first` on.
  Dims every_second(std::size_t first) const {
    Dims picked;
    for (std::size_t i = first; i < args_.size(); i += 2) picked.push_back(args_[i]);
    return picked;
  }

  absl::StatusOr<HostTensor> movement(const HostTensor& x) const {
    const Dims axes(node_.axes().begin(), node_.axes().end());
    const std::size_t rank = x.shape.size();
    if (!axes_are_of(x.shape)) return bad("an axis beyond the rank");
    switch (node_.op()) {
      case v1::CONTIGUOUS:
        return x;
      case v1::RESHAPE:
        if (reference::num_elements(args_) != x.num_elements()) return bad("another number of elements");
        return reference::reshape(x, args_);
      case v1::EXPAND: {
        if (args_.size() != rank) return bad("another rank");
        HEARTH_RETURN_IF_ERROR(fits_memory(args_));
        for (std::size_t axis = 0; axis < rank; ++axis) {
          if (x.shape[axis] != 1 && x.shape[axis] != args_[axis]) return bad("expands an axis longer than 1");
        }
        return reference::expand(x, args_);
      }
      case v1::PERMUTE: {
        Dims sorted = axes;
        std::ranges::sort(sorted);
        if (axes.size() != rank || std::ranges::adjacent_find(sorted) != sorted.end()) return bad("not a permutation");
        return reference::permute(x, axes);
      }
      case v1::PAD: {
        if (args_.size() != 2 * rank || std::ranges::any_of(args_, [](auto n) { return n < 0; })) return bad("pairs");
        if (!node_.data().empty() && node_.data().size() != static_cast<std::size_t>(ir::byte_size(x.dtype)))
          return bad("a fill of another width");
        reference::Element fill;
        if (!node_.data().empty()) {
          fill = read_element(x.dtype, reinterpret_cast<const std::uint8_t*>(node_.data().data()));
        }
        return reference::pad(x, fill, every_second(0), every_second(1));
      }
      case v1::SHRINK: {
        if (args_.size() != 2 * rank) return bad("pairs");
        for (std::size_t axis = 0; axis < rank; ++axis) {
          const std::int64_t begin = args_[2 * axis], end = args_[2 * axis + 1];
          if (begin < 0 || begin > end || end > x.shape[axis]) {
            return bad(absl::StrCat("shrinks ", x.shape[axis], " to [", begin, ", ", end, ")"));
          }
        }
        return reference::shrink(x, every_second(0), every_second(1));
      }
      case v1::FLIP:
        return reference::flip(x, axes);
      case v1::UNFOLD:
        if (axes.size() != 1 || args_.size() != 3 || std::ranges::any_of(args_, [](auto n) { return n < 1; }))
          return bad("one axis; size, step and dilation of at least 1");
        return reference::unfold(x, axes[0], args_[0], args_[1], args_[2]);
      default:
        return bad("an unknown op");
    }
  }

  absl::StatusOr<HostTensor> reduce(ir::ReduceKind kind) const {
    if (in_.size() != 1 || !axes_are_of(in_[0]->shape)) return bad("one input and axes of it");
    if (node_.axes().empty()) return *in_[0];
    return reference::reduce(*in_[0], kind, Dims(node_.axes().begin(), node_.axes().end()));
  }

  absl::StatusOr<HostTensor> matmul() const {
    if (in_.size() != 2) return bad("two inputs");
    const Dims &a = in_[0]->shape, &b = in_[1]->shape;
    if (a.size() < 2 || a.size() != b.size() || a.back() != b[b.size() - 2] ||
        !std::equal(a.begin(), a.end() - 2, b.begin())) {
      return bad("shapes do not fit");
    }
    return reference::matmul(*in_[0], *in_[1]);
  }

  absl::StatusOr<HostTensor> gather() const {
    if (in_.size() != 2 || node_.axes_size() != 1 || !axes_are_of(in_[0]->shape)) return bad("two inputs and one axis");
    Dims rest = in_[0]->shape;
    rest.erase(rest.begin() + node_.axes(0));
    if (in_[0]->shape[node_.axes(0)] == 0 && in_[1]->num_elements() != 0 && reference::num_elements(rest) != 0)
      return bad("nothing to take");
    return reference::gather(*in_[0], *in_[1], node_.axes(0));
  }

  absl::StatusOr<HostTensor> scatter() const {
    constexpr std::optional<ir::ReduceKind> kHow[] = {std::nullopt, ir::ReduceKind::Sum, ir::ReduceKind::Prod,
                                                      ir::ReduceKind::Min, ir::ReduceKind::Max};
    if (in_.size() != 3 || node_.axes_size() != 1 || node_.axes(0) < 0 || node_.axes(0) > 4 || in_[0]->shape.empty())
      return bad("three inputs and how they are written");
    Dims expected = in_[1]->shape;
    expected.insert(expected.end(), in_[0]->shape.begin() + 1, in_[0]->shape.end());
    if (in_[2]->shape != expected || in_[2]->dtype != in_[0]->dtype) return bad("updates do not fit");
    return reference::scatter(*in_[0], *in_[1], *in_[2], kHow[node_.axes(0)]);
  }

  absl::StatusOr<HostTensor> cat() const {
    if (in_.empty() || node_.axes_size() != 1) return bad("inputs and one axis");
    for (const HostTensor* x : in_) {
      Dims shape = x->shape;
      if (x->dtype != in_[0]->dtype || shape.size() != in_[0]->shape.size() || !axes_are_of(shape))
        return bad("parts do not fit");
      shape[node_.axes(0)] = in_[0]->shape[node_.axes(0)];
      if (shape != in_[0]->shape) return bad("parts do not fit");
    }
    return reference::cat(in_, node_.axes(0));
  }

  const v1::Node& node_;
  const std::vector<const HostTensor*> in_;
  const Dims args_;
};

}  // namespace

absl::StatusOr<HostTensor> node_value(const v1::Node& node, std::vector<const HostTensor*> inputs, Dims args,
                                      const WireBindings& bindings) {
  return NodeValue(node, std::move(inputs), std::move(args)).compute(bindings);
}

}  // namespace hearth::codegen::reference
