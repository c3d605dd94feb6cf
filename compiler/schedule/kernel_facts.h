// KernelFacts: what heuristics look at in one store of a flat kernel: its loops, what each node depends on, its memory
// accesses.
#pragma once
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/affine.h"
#include "compiler/ir/graph.h"
#include "compiler/schedule/matrix_units.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

struct Access {
  ir::UOpRef index;  // index(param, position, gate)
  ir::Affine affine;
  bool in_reduction = false;  // executed once an element of a reduction, not once a result
  bool is_store = false;
};

// Where comparisons of `range` alone with constants change within it (those of concatenations and padding), among the
// nodes that `root` is made of: the last place first.
using PlacesOfChange = std::set<std::int64_t, std::greater<>>;
PlacesOfChange places_of_change(ir::UOpRef root, ir::UOpRef range);

struct KernelFacts {
  // `store`: one of the kernel's.
  KernelFacts(ir::UOpRef kernel, ir::UOpRef store, const target::Target& target);

  static std::int64_t size(ir::UOpRef range) {
    return range->source(0)->is_const() ? range->source(0)->int_value() : 0;
  }
  static std::int64_t largest_size(ir::UOpRef range) { return range->source(0)->bounds.max; }
  // Whether its length is a multiple of n for all values of the variables.
  static bool is_multiple(ir::UOpRef range, std::int64_t n);

  bool depends_on(ir::UOpRef x, ir::UOpRef range) const { return depends.at(x).contains(range); }
  // Whether `range` also moves the position in a way that is no multiple (div, mod, a loaded index).
  bool hidden(const ir::Affine& at, ir::UOpRef range) const;
  // Stays put or moves by one element with `range`.
  bool is_unit_or_zero_stride(const Access& access, ir::UOpRef range) const;
  // The output axis along which the store runs; null if there is none.
  ir::UOpRef contiguous_output() const;

  ir::UOpRef store;
  bool is_only_store = true;        // no other store in the kernel
  std::vector<ir::UOpRef> loops;    // the store's ranges, outermost first
  std::vector<ir::UOpRef> outputs;  // those that no other store shares: loops that opts may change
  std::vector<ir::UOpRef> reduces;  // all reductions
  std::vector<Access> accesses;
  std::unordered_map<ir::UOpRef, std::unordered_set<ir::UOpRef>> depends;  // node -> open ranges
  std::int64_t lanes = 1;                                                  // of the widest dtype in one vector
  std::int64_t registers = 16;                                             // vector registers
  bool has_masks = false;                                                  // masked loads and stores at full speed
  std::int64_t l2_bytes = 0;
  int threads = 1;
  std::optional<target::MatrixUnit> unit;  // that may compute the only reduction
};

}  // namespace hearth::schedule
