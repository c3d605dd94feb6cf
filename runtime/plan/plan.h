// Plan: a v1::Plan after every field was checked. Plans come from a daemon or a file and are not trusted: indices,
// kinds, names, expressions, sizes, offsets, alignment and overlaps are all verified before anything uses them.
// What a kernel's machine code does is not verified: that it stays inside the buffers of its launches is the compiler's
// promise, and an artifact's digest says no more than that it is the one that the plan names.
// Immutable once parsed; thread-safe. Errors: InvalidArgument "plan: THING: what is wrong" (FailedPrecondition for an
// unknown version).
//
//   absl::StatusOr<Plan> plan = parse_plan(bytes);
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/dtype.h"
#include "hearth/v1/plan.pb.h"
#include "runtime/plan/expr.h"

namespace hearth::runtime {

inline constexpr std::size_t kBufferAlignment = 64;
// The next multiple of it.
constexpr std::size_t aligned_size(std::size_t size) {
  return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// What the steps of a loop see (proto/hearth/v1/plan.proto, LoopView).
struct PlanView {
  v1::LoopView::Kind kind = v1::LoopView::SLICE;
  std::uint32_t loop = 0;
  std::uint32_t buffer = 0;
  std::uint32_t other = 0;
  bool reverse = false;
};

struct PlanBuffer {
  v1::PlanBuffer::Kind kind = v1::PlanBuffer::KIND_UNSPECIFIED;
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Expr> shape;
  std::size_t max_bytes = 0;
  std::size_t offset = 0;
  std::string data;
  std::optional<PlanView> view;
  std::vector<std::int64_t> storage;        // lengths of the memory that it begins; empty: its own
  std::optional<std::uint32_t> carried_to;  // an output's input of the next run
  bool in_place = false;                    // in that one's memory

  // Size for these values of the variables; at most max_bytes.
  std::size_t size_bytes(const std::int64_t* values) const;
};

struct PlanKernel {
  std::string symbol;
  std::string artifact;  // 32 bytes, or empty on the null device
  std::uint64_t num_ops = 0;
  std::uint32_t workgroup_size = 0;         // invocations that it is compiled for; 0: threads take shares of its units
  bool unit_is_workgroup = false;           // which computes a unit together; else an invocation does
  std::vector<std::uint32_t> stored_slots;  // that it stores to, ascending; empty: any may be
  std::vector<std::uint32_t> summed_slots;  // of weights that it only multiplies and adds, ascending
};

// Units that a thread should have at least.
struct ForkLimit {
  std::int64_t min_units = 1;
  std::optional<Expr> at;  // instead, where that depends on the variables' values

  std::int64_t evaluate(const std::int64_t* values) const {
    return at ? std::max<std::int64_t>(1, at->evaluate(values)) : min_units;
  }
  std::int64_t least() const { return at ? std::max<std::int64_t>(1, at->min()) : min_units; }
};

// A single bool in memory, and the value for which a launch is run.
struct PlanCondition {
  std::uint32_t buffer = 0;
  bool value = false;
};

struct PlanLaunch {
  std::uint32_t kernel = 0;
  std::vector<std::uint32_t> buffers;
  std::vector<std::uint32_t> vars;
  Expr grid;
  bool once = false;
  ForkLimit fork;
  std::optional<Expr> num_ops;        // at the variables' values; nothing: the kernel's
  std::vector<PlanCondition> run_if;  // all of them hold, or it is not run
};

struct PlanLoop {
  std::uint32_t first_launch = 0;
  std::uint32_t num_launches = 0;
  Expr count;
};

// Neighbouring launches of one grid that are divided between threads together.
struct PlanRegion {
  std::uint32_t first_launch = 0;
  std::uint32_t num_launches = 0;
  ForkLimit fork;
};

struct Plan {
  v1::Target target;
  std::vector<PlanVariable> vars;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanKernel> kernels;
  std::vector<PlanLaunch> launches;
  std::vector<PlanLoop> loops;
  std::vector<PlanRegion> regions;
  std::size_t arena_bytes = 0;
  std::size_t persistent_bytes = 0;
};

absl::StatusOr<Plan> parse_plan(std::string_view bytes);

}  // namespace hearth::runtime
