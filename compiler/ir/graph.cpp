#include "compiler/ir/graph.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "compiler/ir/bounds.h"
#include "compiler/ir/rounding.h"

namespace hearth::ir {
namespace {

void mix(std::size_t& h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdULL;
}
void mix_text(std::size_t& h, const std::string& text) {
  for (unsigned char c : text) mix(h, c);
}

struct PayloadHash {
  std::size_t& h;
  void operator()(std::monostate) const {}
  void operator()(const ConstValue& v) const { mix(h, v.i), mix(h, std::bit_cast<std::uint64_t>(v.f)); }
  void operator()(const VarInfo& v) const { mix_text(h, v.name), mix(h, v.min), mix(h, v.max), mix(h, v.slot); }
  void operator()(const BufferInfo& v) const { mix(h, v.id); }
  void operator()(const ParamInfo& v) const { mix(h, v.slot); }
  void operator()(const AllocationInfo& v) const {
    mix(h, v.id), mix(h, static_cast<std::uint64_t>(v.elements)), mix(h, v.memory);
  }
  void operator()(const RangeInfo& v) const { mix(h, v.axis), mix(h, static_cast<std::uint64_t>(v.kind)); }
  void operator()(const Axes& v) const {
    for (auto a : v.axes) mix(h, a);
  }
  void operator()(const ReduceInfo& v) const {
    mix(h, static_cast<std::uint64_t>(v.kind));
    for (auto a : v.axes) mix(h, a);
  }
  void operator()(const StageInfo& v) const { mix(h, v.id); }
  void operator()(const AccInfo& v) const { mix(h, v.id); }
  void operator()(const BarrierInfo& v) const { mix(h, v.id); }
  void operator()(const LaneInfo& v) const { mix(h, v.lane); }
  void operator()(const WmmaInfo& v) const {
    mix(h, v.m), mix(h, v.n), mix(h, v.k), mix(h, v.group), mix(h, static_cast<int>(v.layout)), mix(h, v.subgroup);
  }
  void operator()(const MatrixAccess& v) const {
    (*this)(v.unit), mix(h, static_cast<int>(v.operand)), mix(h, v.row_stride), mix(h, v.column_stride);
  }
  void operator()(const AttentionInfo& v) const {
    mix(h, v.causal), mix(h, static_cast<std::uint64_t>(v.past)), mix(h, std::bit_cast<std::uint64_t>(v.scale));
  }
  void operator()(const BlobInfo& v) const { mix(h, v.id), mix(h, v.num_values); }
  void operator()(const LoopInfo& v) const { mix(h, v.id), mix(h, v.result), mix(h, v.num_values); }
  void operator()(const ScatterInfo& v) const {
    mix(h, v.combines ? static_cast<std::uint64_t>(*v.combines) + 1 : 0), mix(h, v.row_axes);
  }
  void operator()(const KernelInfo& v) const { mix_text(h, v.symbol); }
};

std::int64_t wrap(DType t, std::int64_t v) {
  if (is_bool(t)) return v != 0;
  int bits = bit_width(t);
  if (bits == 64) return v;
  std::uint64_t low = static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << bits) - 1);
  if (is_unsigned_int(t)) return static_cast<std::int64_t>(low);
  return static_cast<std::int64_t>(low << (64 - bits)) >> (64 - bits);
}

}  // namespace

Graph::Graph() : table_(1024, 0) { provenance_set({}); }
Graph::~Graph() = default;

void Graph::grow() {
  std::vector<std::uint32_t> bigger(table_.size() * 2, 0);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    std::size_t slot = hashes_[n] & (bigger.size() - 1);
    while (bigger[slot]) slot = (slot + 1) & (bigger.size() - 1);
    bigger[slot] = n + 1;
  }
  table_ = std::move(bigger);
}

// Constants and lengths are of no place: every node of a graph may have the same ones.
static bool has_place(Op op, DType dtype, std::span<const UOpRef> sources) {
  if (op == Op::Const || op == Op::Var) return false;
  if (dtype.scalar != Scalar::Index || !is_elementwise(op)) return true;
  return std::ranges::any_of(sources, [](UOpRef s) { return s->provenance != 0; });
}

UOpRef Graph::make(Op op, DType dtype, std::span<const UOpRef> sources, Payload payload) {
  assert(static_cast<int>(sources.size()) >= min_sources(op));
  assert(max_sources(op) < 0 || static_cast<int>(sources.size()) <= max_sources(op));
  std::size_t h = 0;
  mix(h, static_cast<std::uint64_t>(op));
  mix(h, static_cast<std::uint64_t>(dtype.scalar) << 16 | dtype.lanes);
  for (UOpRef s : sources) mix(h, s->id);
  mix(h, payload.index());
  std::visit(PayloadHash{h}, payload);

  std::size_t slot = h & (table_.size() - 1);
  for (; table_[slot]; slot = (slot + 1) & (table_.size() - 1)) {
    std::uint32_t n = table_[slot] - 1;
    if (hashes_[n] != h) continue;
    UOp& node = nodes_[n];
    if (node.op == op && node.dtype == dtype && std::ranges::equal(node.sources, sources) && node.payload == payload) {
      if (current_provenance && node.provenance != current_provenance && has_place(op, dtype, sources)) {
        node.provenance = merge_provenance(node.provenance, current_provenance);
      }
      return &node;
    }
  }
  const std::vector<UOpRef>& stored = source_storage_.emplace_back(sources.begin(), sources.end());
  UOp& node = nodes_.emplace_back();
  node.op = op;
  node.dtype = dtype;
  node.id = static_cast<std::uint32_t>(nodes_.size() - 1);
  node.sources = stored;
  node.bounds = derive_bounds(op, dtype, stored, payload);
  node.payload = std::move(payload);
  node.provenance = has_place(op, dtype, stored) ? current_provenance : 0;
  hashes_.push_back(h);
  table_[slot] = static_cast<std::uint32_t>(nodes_.size());
  if (nodes_.size() * 2 > table_.size()) grow();
  return &node;
}

UOpRef Graph::constant(DType dtype, std::int64_t value) {
  if (is_float(dtype)) return constant(dtype, static_cast<double>(value));
  if (dtype.lanes > 1) return make(Op::Broadcast, dtype, {constant(dtype.element(), value)});
  return make(Op::Const, dtype, {}, ConstValue{false, wrap(dtype, value), 0});
}

UOpRef Graph::constant(DType dtype, double value) {
  if (dtype.lanes > 1) return make(Op::Broadcast, dtype, {constant(dtype.element(), value)});
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return make(Op::Const, dtype, {}, ConstValue{true, 0, round_to(dtype, value)});
}

UOpRef Graph::binary(Op op, UOpRef a, UOpRef b) {
  DType dtype = op_class(op) == OpClass::Compare ? DType(Scalar::Bool, a->dtype.lanes) : a->dtype;
  return make(op, dtype, {a, b});
}

std::uint32_t Graph::provenance_set(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  auto [found, added] = provenance_ids_.emplace(std::move(texts), provenance_sets_.size());
  if (added) provenance_sets_.push_back(&found->first);
  return found->second;
}

std::uint32_t Graph::merge_provenance(std::uint32_t a, std::uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (provenance_sets_[a]->size() >= kMaxProvenance) return a;
  auto [known, added] = merged_provenance_.emplace(std::uint64_t{a} << 32 | b, 0);
  if (added) {
    std::vector<std::string> texts = *provenance_sets_[a];
    for (const std::string& text : *provenance_sets_[b]) {
      if (texts.size() < kMaxProvenance) texts.push_back(text);
    }
    known->second = provenance_set(std::move(texts));
  }
  return known->second;
}

thread_local std::vector<std::uint8_t> Visited::marks_;

std::uint32_t next_axis(UOpRef root) {
  std::uint32_t next = 0;
  for (UOpRef x : toposort(root)) {
    if (x->is(Op::Range)) next = std::max(next, x->as<RangeInfo>().axis + 1);
  }
  return next;
}

UOpRef substitute(Graph& graph, UOpRef root, std::span<const std::pair<UOpRef, UOpRef>> map) {
  const std::vector<UOpRef> nodes = toposort(root);
  absl::flat_hash_map<UOpRef, UOpRef> replaced(map.begin(), map.end());
  replaced.reserve(nodes.size() + map.size());
  std::vector<UOpRef> sources;
  for (UOpRef node : nodes) {
    if (replaced.contains(node)) continue;
    bool changed = false;
    sources.clear();
    for (UOpRef s : node->sources) {
      sources.push_back(replaced.at(s));
      changed |= sources.back() != s;
    }
    replaced[node] = changed ? graph.with_sources(node, sources) : node;
  }
  return replaced.at(root);
}

}  // namespace hearth::ir
