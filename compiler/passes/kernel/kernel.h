// Kernel: what one stage, or a copy of an operand, became: its canonical AST and what a launch of it has to know. Made
// by the list of steps in compiler/compile.cpp, one field a step.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/kernel/check_bounds.h"
#include "compiler/passes/kernel/kernel_cost.h"
#include "compiler/passes/kernel/launch_work.h"
#include "compiler/schedule/opts.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::passes {

struct Kernel {
  ir::UOpRef root = nullptr;             // sink(store(...)), no symbol yet
  std::vector<ir::UOpRef> buffers = {};  // param slot -> the stage or Buffer it stands for; slot 0 is the stage itself
  std::vector<std::uint32_t> vars = {};  // kernel var slot -> graph var slot
  ir::UOpRef rows = nullptr;             // of a flat kernel: the loop that block_rows divides
  ir::UOpRef grid = nullptr;             // units of the Grid range over the graph's vars; 1 without one
  std::uint32_t workgroup = 0;           // invocations that compute a unit together; 0: one does
  std::string name = {};                 // from kind and extents, e.g. "r_64_128"
  double num_ops = 0;                    // at upper bounds
  double work = 0;                       // operations, or elements stored where those are more (a copy): for threads
  LaunchWork launch_work = {};           // both over the graph's vars
  std::uint32_t provenance = 0;
  BoundsCount bounds = {};
  v1::KernelChoice choice = {};  // with Tuning::describe
  KernelCost cost = {};          // likewise

  // Copies of operands (passes/kernel/pack_operands) that `buffers` names and that must be made before this kernel
  // runs.
  struct Packing {
    ir::UOpRef copy = nullptr;    // the Buffer that stands for it in `buffers`
    ir::UOpRef source = nullptr;  // the stage or Buffer it is made of
    std::int64_t elements = 0;
    std::vector<ir::UOpRef> flat = {};  // a flat kernel a region; slot 0: the copy, slot 1: the source
    std::vector<Kernel> kernels;        // what they become
  };
  std::vector<Packing> packings = {};
};

// A kernel to be made: of a stage, or of a flat kernel that is there already. The first steps are those of its source.
struct KernelTask {
  ir::UOpRef stage = nullptr;  // what is computed; null: `flat`
  ir::UOpRef in_place =
      nullptr;  // of a stage: a Buffer that it reads, in whose memory it is made (kernel/update_in_place)
  ir::UOpRef flat = nullptr;
  std::vector<ir::UOpRef> buffers = {};  // of `flat`: what its slots stand for
  std::uint32_t provenance = 0;          // likewise
  bool may_pack = false;                 // operands into copies
  // Instead of the scheduler's: a candidate's, in canonical axes, or those of who made `flat`, in its own.
  std::optional<std::vector<schedule::Opt>> forced = {};
  std::optional<std::vector<schedule::Opt>> own = {};
  std::string_view kind = "";  // what the kernel's name begins with; "": by what it computes
};

}  // namespace hearth::passes
