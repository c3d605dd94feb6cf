// Opts: loop transformations of one kernel, decided by a scheduler or a tuning record (scheduler.h, records.h) and applied by
// passes/kernel/apply_opts. They become part of the kernel's canonical AST, hence of its key.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/target/target.h"

namespace hearth::schedule {

struct Opt {
  enum class Kind {
    Tile,    // output axis n -> ceil(n/amount) tiles (new outer axis) of at most `amount`
    Lanes,   // axis -> vectors of `amount` lanes, the remainder as a scalar loop
    Masked,  // like Lanes, but the remainder of an output axis is one vector with its last lanes switched off
    PadTo,   // output axis -> rounded up to a multiple of `amount`; what is beyond its end touches no memory
    Unroll,  // axis -> `amount` copies in a row, a constant remainder as fewer copies, another one as a loop
    Spread,  // output axis -> `amount` copies as far from each other as the axis is long, so that neighbours in the loop
             // that is left (invocations of a GPU) load and store neighbours; a remainder as a loop
    Dot,     // reduced axis -> groups of `amount` neighbours whose dot product a matrix unit computes
             // (matrix_units.h), the last one filled up with zeros
    Split,   // axis of constant length -> those before `amount` and the others, in two sums or two stores: where a
             // condition on it changes
    Before,     // output axis -> its loop stands directly outside of the loop of output axis `amount`
    Workgroup,  // axis -> `amount` invocations of a workgroup side by side take its elements in turns; a reduced one is
                // summed across them. An output axis has to be a multiple (PadTo). Of several output axes together
                // as many as their product, the last one's neighbours being neighbours
    Shared,     // reduced axis -> tiles of at most `amount`. What the reduction reads for a tile, the invocations of a
                // workgroup copy to shared memory first (passes/kernel/shared_tiles)
    Matrix,     // likewise, of a product that the target's matrix unit computes (passes/kernel/matrix_tiles)
    Pack,       // param slot `axis` is read from a copy in the order of the loops (passes/kernel/pack_operands); amount
                // unused
  };
  Kind kind;
  std::uint32_t axis;  // RangeInfo.axis
  std::int64_t amount;
};

// "LANES", as explain and messages say it.
std::string_view name_of(Opt::Kind kind);
std::optional<Opt::Kind> kind_named(std::string_view name);
std::string to_string(const Opt& opt);

// A packed copy pays only while it is not much larger than what it is made of.
inline bool is_small_copy(double elements, double of_elements) { return elements <= 2 * of_elements + 4096; }

// What the kernel itself does not say about the buffer of a param slot.
struct SlotFacts {
  bool once = false;            // holds the same values at every replay: packing it costs nothing there
  bool constant_shape = false;  // else it may be smaller than what the kernel could read of it: never packed
};

// What a search begins from.
struct Neighbourhood {
  const std::vector<SlotFacts>& slots;
  bool may_pack = false;
  const std::vector<Opt>& opts;
};

// Choices for CPUs: vectors along the axis that loads and stores run along, a register tile of independent accumulators
// for reductions, blocks so that one-dimensional work can be divided between threads. `work`: as
// passes/kernel/kernel has it.
std::vector<Opt> heuristic_cpu(ir::UOpRef kernel, const target::Target& target, double work,
                               const std::vector<SlotFacts>& slots);

}  // namespace hearth::schedule
