#include "compiler/passes/kernel/flatten.h"

#include <algorithm>

#include "compiler/ir/shape.h"
#include "compiler/passes/lowered/reduce_kind.h"
#include "compiler/passes/ranged/compute_at.h"
#include "compiler/passes/ranged/movement_index.h"
#include "compiler/passes/ranged/stages.h"

namespace hearth::passes {

using ir::Op;
using ir::Shape;
using ir::UOpRef;

namespace {

double trip_count(UOpRef range) { return static_cast<double>(std::max<std::int64_t>(range->source(0)->bounds.max, 1)); }

// The innermost loop that all stores share and under which most of the loads stay the same.
UOpRef rows_of(UOpRef root, const std::vector<UOpRef>& shared) {
  UOpRef best = nullptr;
  double most = -1;
  for (UOpRef loop : shared) {
    double reread = 0;
    for (UOpRef x : toposort(root)) {
      if (!x->is(Op::Index) || !x->source(0)->is(Op::Param)) continue;
      double bytes = byte_size(x->source(0)->dtype);
      bool moves = false;
      for (UOpRef r : toposort(x)) {
        moves |= r == loop;
        if (r->is(Op::Range)) bytes *= trip_count(r);
      }
      if (!moves) reread += bytes;
    }
    if (reread >= most) most = reread, best = loop;
  }
  return best;
}

// The shared loops become the outermost of every store, `rows` the last of them.
UOpRef with_outer_loops(ir::Graph& g, UOpRef root, const std::vector<UOpRef>& shared, UOpRef rows) {
  auto place = [&](UOpRef r) { return r == rows ? 1 : std::ranges::find(shared, r) == shared.end() ? 2 : 0; };
  std::vector<UOpRef> stores;
  for (UOpRef store : root->sources) {
    std::vector<UOpRef> sources(store->sources.begin(), store->sources.end());
    // Loops of one place in the order of the first kept stage, then of the store.
    std::stable_sort(sources.begin() + 2, sources.end(), [&](UOpRef a, UOpRef b) {
      if (place(a) != place(b)) return place(a) < place(b);
      return place(a) == 0 && std::ranges::find(shared, a) < std::ranges::find(shared, b);
    });
    stores.push_back(g.with_sources(store, sources));
  }
  return g.make(Op::Sink, root->dtype, stores, root->payload);
}

}  // namespace

static UOpRef param(ir::Graph& g, ir::DType dtype, std::size_t slot) {
  return g.make(Op::Param, dtype, {}, ir::ParamInfo{static_cast<std::uint32_t>(slot)});
}

UOpRef StageFlattener::run() {
  std::unordered_map<UOpRef, UOpRef> done;
  UOpRef value = value_of(root_, done);
  Shape at;
  for (std::size_t i = 1; i < root_->sources.size(); ++i) at.push_back(done.at(root_->source(i)));
  UOpRef target = g_.make(Op::Index, ir::Scalar::Void,
                          {param(g_, root_->dtype, 0), flat_index(g_, axes_of(root_), at), g_.boolean(true)});
  add_store(target, value, at);
  return g_.make(Op::Sink, ir::Scalar::Void, stores_);
}

UOpRef StageFlattener::value_at(const std::vector<UOpRef>& at) {
  std::unordered_map<UOpRef, UOpRef> done;
  for (std::size_t i = 0; i < at.size(); ++i) done[root_->source(1 + i)] = at[i];
  return value_of(root_, done);
}

void StageFlattener::add_store(UOpRef target, UOpRef value, const std::vector<UOpRef>& ranges) {
  std::vector<UOpRef> store = {target, value};
  store.insert(store.end(), ranges.begin(), ranges.end());
  stores_.push_back(g_.make(Op::Store, ir::Scalar::Void, store));
}

UOpRef StageFlattener::slot_of(UOpRef buffer) {
  auto found = std::ranges::find(out_.buffers, buffer);
  std::size_t slot = found - out_.buffers.begin();
  if (found == out_.buffers.end()) out_.buffers.push_back(buffer);
  return param(g_, buffer->dtype, slot);
}

// The allocation of a stage that `reader` keeps; its store comes before the reader's. `done`: of the reader.
UOpRef StageFlattener::allocation_of(UOpRef kept, UOpRef reader, const std::unordered_map<UOpRef, UOpRef>& done) {
  if (auto found = allocations_.find(kept); found != allocations_.end()) return found->second;
  std::vector<UOpRef> indices, loops;
  for (UOpRef x : stage_body(reader)) {
    if (x->is(Op::Index) && x->source(0) == kept) indices.push_back(x);
  }
  std::unordered_map<UOpRef, UOpRef> own;
  const std::vector<UOpRef> of_reader = shared_loops(kept, reader, indices).value();
  for (std::size_t i = 0; i < of_reader.size(); ++i) {
    loops.push_back(done.at(of_reader[i]));
    own[kept->source(1 + i)] = loops.back();
  }
  if (shared_.empty()) shared_ = loops;
  UOpRef value = value_of(kept, own), row = own.at(kept->sources.back());
  const auto id = static_cast<std::uint32_t>(allocations_.size());
  const ir::AllocationInfo info{id, row->source(0)->bounds.max, id};
  UOpRef allocation = g_.make(Op::Allocate, kept->dtype, loops, info);
  loops.push_back(row);
  add_store(g_.make(Op::Index, ir::Scalar::Void, {allocation, row, g_.boolean(true)}), value, loops);
  return allocations_[kept] = allocation;
}

// `done`: what ranges of the stage become, if they are not its own; afterwards what every node has become.
UOpRef StageFlattener::value_of(UOpRef stage, std::unordered_map<UOpRef, UOpRef>& done) {
  std::vector<UOpRef> sources;
  for (UOpRef x : stage_body(stage)) {
    out_.provenance = g_.merge_provenance(out_.provenance, x->provenance);
    if (x->is(Op::Buffer) || done.contains(x)) continue;  // buffers are named by index nodes only
    sources.clear();
    if (x->is(Op::Index)) {
      UOpRef from = x->source(0), gate = done.at(x->sources.back());
      std::vector<UOpRef> at;
      for (std::size_t i = 1; i + 1 < x->sources.size(); ++i) at.push_back(done.at(x->source(i)));
      const bool kept = from->is(Op::Stage) && from->as<ir::StageInfo>().kept;
      done[x] = kept ? g_.make(Op::Index, ir::Scalar::Void, {allocation_of(from, stage, done), at.back(), gate})
                     : g_.make(Op::Index, ir::Scalar::Void, {slot_of(from), flat_index(g_, axes_of(from), at), gate});
      continue;
    }
    for (UOpRef s : x->sources) sources.push_back(done.at(s));
    bool empty = x->is(Op::Reduce) &&
                 std::any_of(sources.begin() + 1, sources.end(), [](UOpRef r) { return r->source(0)->bounds.max < 1; });
    done[x] = empty ? reduce_identity(g_, x->as<ir::ReduceInfo>().kind, x->dtype) : g_.with_sources(x, sources);
  }
  return done.at(stage->source(0));
}

UOpRef flatten(ir::Graph& g, UOpRef stage, Kernel& out) {
  out.buffers = {stage};
  StageFlattener flattener(g, stage, out);
  UOpRef flat = flattener.run();
  if (flattener.shared().empty()) return flat;
  out.rows = rows_of(flat, flattener.shared());
  return with_outer_loops(g, flat, flattener.shared(), out.rows);
}

}  // namespace hearth::passes
