#include "tests/unit/rules/evaluator.h"

#include <algorithm>
#include <limits>

namespace hearth::test {

using ir::DType;
using ir::Op;
using ir::UOpRef;
using Wide = __int128;

namespace {

std::optional<Wide> wrap(DType t, Wide v) {
  if (ir::is_bool(t)) return v & 1;
  if (ir::is_index(t)) {
    if (v < std::numeric_limits<std::int64_t>::min() || v > std::numeric_limits<std::int64_t>::max())
      return std::nullopt;
    return v;
  }
  const Wide size = Wide(1) << ir::bit_width(t);
  Wide low = v % size;
  if (low < 0) low += size;
  return ir::is_signed_int(t) && low >= size / 2 ? low - size : low;
}

Wide quotient(Wide a, Wide b, bool floor) {
  if (b == 0) return 0;
  Wide q = a / b;
  if (floor && q * b != a && (a < 0) != (b < 0)) --q;
  return q;
}

}  // namespace

std::optional<Wide> operate(UOpRef node, Wide a, Wide b) {
  const DType t = node->dtype;
  const int bits = ir::bit_width(t);
  switch (node->op) {
    case Op::Neg:
      return wrap(t, -a);
    case Op::Abs:
      return wrap(t, a < 0 ? -a : a);
    case Op::Not:
      return ir::is_bool(t) ? Wide(a == 0) : wrap(t, -a - 1);
    case Op::Add:
      return ir::is_bool(t) ? a | b : wrap(t, a + b);
    case Op::Sub:
      return wrap(t, a - b);
    case Op::Mul:
      // Low 128 bits are enough for the wrapping types; an index product is checked.
      if (ir::is_index(t)) {
        Wide product;
        return __builtin_mul_overflow(a, b, &product) ? std::nullopt : wrap(t, product);
      }
      return wrap(t, static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    case Op::TruncDiv:
    case Op::FloorDiv:
      return wrap(t, quotient(a, b, node->op == Op::FloorDiv));
    case Op::TruncMod:
    case Op::FloorMod:
      return b == 0 ? Wide(0) : wrap(t, a - b * quotient(a, b, node->op == Op::FloorMod));
    case Op::Max:
      return a > b ? a : b;
    case Op::Min:
      return a < b ? a : b;
    case Op::And:
      return wrap(t, a & b);
    case Op::Or:
      return wrap(t, a | b);
    case Op::Xor:
      return wrap(t, a ^ b);
    case Op::Shl:
      return b < 0 || b >= bits ? Wide(0) : wrap(t, a * (Wide(1) << int(b)));
    case Op::Shr:
      return b < 0 || b >= bits ? Wide(a < 0 ? -1 : 0) : wrap(t, quotient(a, Wide(1) << int(b), true));
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Cast:
      return ir::is_bool(t) ? Wide(a != 0) : wrap(t, a);
    default:
      return std::nullopt;
  }
}

namespace {

// An end at the limit of int64 is no bound (bounds.h).
bool within(UOpRef node, Wide value) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const ir::Bounds b = node->bounds;
  return (b.min == kMin || value >= b.min) && (b.max == kMax || value <= b.max);
}

// What the buffer of `slot` holds at `position`: small numbers at even slots and for indices, else any.
std::uint64_t content(std::uint32_t slot, Wide position, bool small) {
  std::uint64_t x = (static_cast<std::uint64_t>(position) + 1) * 0x9e3779b97f4a7c15U + slot * 0xbf58476d1ce4e5b9U;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 32;
  return small || slot % 2 == 0 ? x % 8 - 2 : x;
}

}  // namespace

const BufferSizes& Evaluator::none() {
  static const BufferSizes& sizes = *new BufferSizes;
  return sizes;
}

std::optional<Wide> Evaluator::value(UOpRef node) {
  if (auto known = values_.find(node); known != values_.end()) return known->second;
  const std::optional<Wide> result = compute(node);
  if (result && (ir::is_int(node->dtype) || ir::is_bool(node->dtype)) && !within(node, *result)) unsound_ = node;
  values_[node] = result;
  return result;
}

std::optional<Wide> Evaluator::compute(UOpRef node) {
  if (auto leaf = leaves_.find(node); leaf != leaves_.end()) {
    return ir::is_index(node->dtype) ? Wide(leaf->second) : wrap(node->dtype, leaf->second);
  }
  if (node->is_const()) return wrap(node->dtype, node->int_value());
  if (node->is(Op::Load)) return load(node);
  if (node->is(Op::Reduce)) return reduce(node);
  std::optional<Wide> args[3];
  for (std::size_t s = 0; s < node->sources.size() && s < 3; ++s) args[s] = value(node->source(s));
  if (node->is(Op::Where)) return !args[0] ? std::nullopt : *args[0] != 0 ? args[1] : args[2];
  for (std::size_t s = 0; s < node->sources.size() && s < 3; ++s) {
    if (!args[s]) return std::nullopt;
  }
  return operate(node, args[0].value_or(0), args[1].value_or(0));
}

std::optional<Wide> Evaluator::load(UOpRef node) {
  const UOpRef index = node->source(0);
  const std::optional<Wide> gate = value(index->sources.back());
  if (!gate) return std::nullopt;
  if (*gate == 0) return node->sources.size() > 1 ? value(node->source(1)) : Wide{0};
  const std::uint32_t slot = index->source(0)->as<ir::ParamInfo>().slot;
  const std::optional<Wide> position = value(index->source(1));
  if (!position) {
    outside_ = node;
    return std::nullopt;
  }
  if (auto size = sizes_.find(slot); size != sizes_.end()) {
    const std::optional<Wide> end = value(size->second);
    if (!end || *position < 0 || *position >= *end) outside_ = node;
  }
  return wrap(node->dtype, static_cast<std::int64_t>(content(slot, *position, ir::is_index(node->dtype))));
}

std::optional<Wide> Evaluator::reduce(UOpRef node) {
  const DType t = node->dtype;
  const ir::ReduceKind kind = node->as<ir::ReduceInfo>().kind;
  const bool is_sum = kind == ir::ReduceKind::Sum, is_max = kind == ir::ReduceKind::Max;
  const Wide least = ir::int_min(t), most = t.scalar == ir::Scalar::U64 ? Wide(~std::uint64_t{0}) : ir::int_max(t);
  Wide total = is_sum ? Wide(0) : kind == ir::ReduceKind::Prod ? Wide(1) : is_max ? least : most;
  // The loops from the outside in: ranges set so far, and the values they take.
  struct Loop {
    std::size_t s;
    Wide i, size;
  };
  std::vector<Loop> loops;
  Evaluator body(leaves_, sizes_);
  while (true) {
    while (loops.size() + 1 < node->sources.size()) {
      const std::size_t s = loops.size() + 1;
      const std::optional<Wide> size = body.value(node->source(s)->source(0));
      if (!size) return std::nullopt;
      loops.push_back({s, 0, *size});
      if (*size <= 0) break;
      body.leaves_[node->source(s)] = 0;
      body.values_.clear();
    }
    if (loops.back().size > 0) {
      const std::optional<Wide> v = body.value(node->source(0));
      if (!v) return std::nullopt;
      const auto product =
          static_cast<Wide>(static_cast<unsigned __int128>(total) * static_cast<unsigned __int128>(*v));
      std::optional<Wide> next = is_max ? std::max(total, *v) : std::min(total, *v);
      if (is_sum) next = ir::is_bool(t) ? total | *v : wrap(t, total + *v);
      if (kind == ir::ReduceKind::Prod) next = wrap(t, product);
      if (!next) return std::nullopt;
      total = *next;
    }
    while (!loops.empty() && loops.back().i + 1 >= loops.back().size) loops.pop_back();
    if (body.outside_ != nullptr) outside_ = body.outside_;
    if (body.unsound_ != nullptr) unsound_ = body.unsound_;
    if (loops.empty()) return total;
    body.leaves_[node->source(loops.back().s)] = static_cast<std::int64_t>(++loops.back().i);
    body.values_.clear();
  }
}

std::optional<std::vector<Wide>> observe(Evaluator& machine, UOpRef root) {
  std::vector<UOpRef> seen = {root};
  const UOpRef index = root->is(Op::Store) ? root->source(0) : root;
  if (index->is(Op::Index)) {
    const std::optional<Wide> gate = machine.value(index->sources.back());
    if (!gate) return std::nullopt;
    seen = {index->sources.back()};
    if (*gate != 0) seen.insert(seen.end(), index->sources.begin() + 1, index->sources.end() - 1);
    if (*gate != 0 && root != index) seen.push_back(root->source(1));
  }
  std::vector<Wide> values;
  for (UOpRef node : seen) {
    const std::optional<Wide> value = machine.value(node);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<Wide> evaluate(UOpRef root, const Assignment& leaves) { return Evaluator(leaves).value(root); }

}  // namespace hearth::test
