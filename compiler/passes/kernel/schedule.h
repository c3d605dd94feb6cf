// Schedule: what a graph became once its stages are kernels: buffers, kernels, launches in their order, loops. Made by
// split_kernels, completed by memory_plan and parallel_regions, written as a plan by plan_build. Plain data.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/uop.h"
#include "compiler/passes/kernel/check_bounds.h"
#include "compiler/passes/kernel/kernel_cost.h"
#include "compiler/passes/kernel/launch_work.h"
#include "compiler/passes/kernel/slot_access.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/plan.pb.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::passes {

// LoopView of proto/hearth/v1/plan.proto.
struct PlannedView {
  v1::LoopView::Kind kind = v1::LoopView::SLICE;
  std::uint32_t loop = 0, buffer = 0, other = 0;
  bool reverse = false;
};

struct PlannedBuffer {
  ir::BufferKind kind = ir::BufferKind::Arena;
  std::string name;
  ir::DType dtype;
  std::vector<ir::UOpRef> shape;
  std::vector<ir::UOpRef> storage;  // of its memory, where that is another one
  std::uint64_t max_bytes = 0;
  std::uint64_t offset = 0;  // set by memory_plan
  std::string data;
  std::optional<PlannedView> view;    // no memory of its own
  std::optional<std::uint32_t> loop;  // used within one step of it only
};

// A bool in a buffer of one element, and the value for which a launch is run.
struct PlannedCondition {
  std::uint32_t buffer = 0;
  bool value = false;
  bool operator==(const PlannedCondition&) const = default;
};

struct PlannedLaunch {
  std::uint32_t kernel = 0;
  std::vector<std::uint32_t> buffers;  // param slot -> buffer; slot 0 is stored to
  std::vector<std::uint32_t> vars;     // kernel var slot -> graph var slot
  ir::UOpRef grid = nullptr;           // over the graph's vars
  LaunchWork launch_work;              // of one run, likewise
  bool once = false;
  std::optional<std::uint32_t> loop;          // that it is a part of
  std::vector<PlannedCondition> run_if = {};  // all of them hold; else it is not run
};

struct PlannedLoop {
  ir::UOpRef count = nullptr;  // over the graph's vars
};

// Neighbouring launches that one fork runs (passes/plan/parallel_regions).
struct PlannedRegion {
  std::uint32_t first_launch = 0, num_launches = 0;
  double work = 0;  // of all of them, see Kernel
};

struct PlannedKernel {
  std::string symbol;
  std::string text;              // canonical; a blob's symbol
  std::string ast;               // the same with the symbol in it
  std::uint32_t workgroup = 0;   // see Kernel
  std::uint32_t provenance = 0;  // of all its launches
  std::string main_source;       // what most of its work is for, of its first launch; with Tuning::describe
  std::string source;            // main_source, then the others of `provenance`, for explain
  double num_ops = 0;
  double work = 0;                   // see Kernel
  std::vector<SlotAccess> accesses;  // by param slot; empty where nothing is known
  std::vector<bool> summed;          // by param slot (passes/kernel/summed_slots); empty where nothing is known
  v1::KernelChoice choice;           // with Tuning::describe
  KernelCost cost;                   // likewise; of a blob: its operations alone
  std::optional<v1::PlanBlob> blob;  // instead of `ast`
};

struct Schedule {
  std::vector<PlannedBuffer> buffers;   // graph buffers first (ids as imported), then outputs and intermediates
  std::vector<PlannedKernel> kernels;   // distinct
  std::vector<PlannedLaunch> launches;  // execution order; those of a loop are neighbours
  std::vector<std::uint32_t> levels;    // of each launch (passes/plan/launch_levels); empty: they run one by one
  std::vector<PlannedLoop> loops;
  std::vector<std::uint32_t> in_place;      // outputs in the memory of what they are carried to: launches name that
  std::vector<std::uint32_t> not_in_place;  // of ImportedGraph::carried: those that have to be made elsewhere
  std::vector<PlannedRegion> regions;       // in the order of their launches, which are not shared
  BoundsCount bounds;                       // of all kernels, equal ones counted each time
};

}  // namespace hearth::passes
