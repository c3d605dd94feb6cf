// Target: what code is compiled for, as what it can do and what that costs. Passes, heuristics and rules ask it, and
// know neither the wire's record nor the name of an ISA or a device. Immutable; thread-safe. A record is a Target
// wherever one is asked for. Errors: none here; a record that came from outside is checked first
// (target/check_record.h).
//
//   const target::Target target(record);
//   if (target.lanes(sizeof(float)) < 4) return sink;   // no vectors worth a layout
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/dtype.h"
#include "compiler/ir/uop.h"
#include "compiler/target/matrix_unit.h"
#include "hearth/v1/artifact.pb.h"

namespace hearth::target {

// What computes one unit of a launch.
enum class Unit : std::uint8_t {
  Share,       // a thread, which takes a share of all units in one call
  Invocation,  // one of very many, which run beside each other
};

// What differs between targets; Target is how it is asked.
struct Capabilities {
  std::int64_t vector_bytes = 0;  // of one register; 0: none, kernels are scalar
  std::int64_t vector_registers = 16;
  bool has_masks = false;
  bool has_scaleb = false;
  std::optional<MatrixUnit> bf16_unit;         // sums of bf16 products
  std::optional<MatrixUnit> byte_unit;         // of u8 times i8
  std::optional<MatrixUnit> same_byte_unit;    // of bytes of one signedness
  ir::WmmaInfo matrix_unit, byte_matrix_unit;  // of a subgroup, for 16 and for 8 bits; Whole: none
  bool multiplies_bf16 = true, multiplies_unsigned_bytes = true;
  double matrix_speed = 1;
  bool exchanges = false;  // invocations of a subgroup, values
  std::int64_t allocation_bytes = 0;
  std::string blob_toolchain;
  std::string arch;
  bool is_tuned = false;
  Unit unit = Unit::Share;
  std::int64_t max_units = 0;
  std::int64_t max_workgroups = 0;
};

class Target {
 public:
  Target(const v1::Target& record);  // NOLINT(google-explicit-constructor): a record is a Target

  // For the code generator of its kind, and for what a plan says about itself.
  const v1::Target& record() const { return record_; }

  // Elements of `element_bytes` bytes in one vector register; 0 where there are none: a kernel is scalar.
  std::int64_t lanes(std::int64_t element_bytes) const { return can_.vector_bytes / element_bytes; }
  std::int64_t vector_registers() const { return can_.vector_registers; }
  // Vectors are masked at full speed, and comparisons make masks.
  bool has_masks() const { return can_.has_masks; }
  // Whole vectors of floats are multiplied by powers of two in one instruction (Op::ScaleB).
  bool has_scaleb() const { return can_.has_scaleb; }

  // The best unit of one row for sums of products of these types, exact in the wider type; nothing where there is none.
  std::optional<MatrixUnit> vector_unit(ir::Scalar a, ir::Scalar b) const;
  // What multiplies matrices of these types for a subgroup (f16, mostly bf16 and bytes); its layout is Whole where
  // nothing does.
  ir::WmmaInfo matrix_unit(ir::Scalar a, ir::Scalar b) const;
  bool multiplies_matrices(ir::Scalar a, ir::Scalar b) const {
    return matrix_unit(a, b).layout != ir::MatrixLayout::Whole;
  }
  // Invocations of a subgroup that may exchange values without shared memory; 0: none may, or their number varies.
  std::int64_t exchanging_invocations() const { return can_.exchanges ? subgroup_size() : 0; }
  // Its multiply-adds in the time of one of ordinary arithmetic: of bytes it does twice as many where its matrices of
  // them are larger.
  double matrix_speed(const ir::WmmaInfo& unit) const {
    return unit == can_.matrix_unit ? can_.matrix_speed : 2 * can_.matrix_speed;
  }

  // Threads that a launch is divided for; 0: unknown.
  std::int64_t threads() const { return record_.threads(); }
  // Second-level cache of one core.
  std::int64_t l2_bytes() const;
  // Operations or elements that are worth waking a thread for.
  double fork_work() const;
  // The most that all allocations of one kernel may have together; 0: a kernel keeps no rows.
  std::int64_t allocation_bytes() const { return can_.allocation_bytes; }

  Unit unit() const { return can_.unit; }
  // Invocations of one workgroup, of units that are invocations.
  std::uint32_t workgroup_size() const { return std::max(1u, record_.gpu().workgroup_size()); }

  // Sums of 32 bits that one invocation keeps at hand: of up to 255 registers of a GPU's invocation a quarter, so that
  // others fit beside it.
  std::int64_t register_values() const { return or_else(record_.gpu().register_values(), 64); }
  // Invocations that keep the device busy: 128 units of arithmetic with eight subgroups of 32 each.
  std::int64_t wanted_invocations() const { return or_else(record_.gpu().wanted_invocations(), 32'768); }
  // The cost of a load that a cache answers, in multiply-adds: an NVIDIA SM loads 32 elements in a cycle and computes
  // 128.
  std::int64_t load_cost() const { return or_else(record_.gpu().load_cost(), 4); }
  // The cost of a load from a workgroup's memory: it is as fast, but most loads there are the same for a row or a
  // column of the workgroup, or four elements at once.
  std::int64_t shared_load_cost() const { return or_else(record_.gpu().shared_load_cost(), 1); }

  // Whether invocations that run in step load neighbouring elements at once.
  bool joins_loads() const { return !record_.gpu().single_loads(); }

  // Invocations that may compute a unit together, in shared memory of as many bytes; more than 256 wait for each other
  // longer than they gain.
  std::int64_t max_workgroup() const {
    return std::min<std::int64_t>(256, std::max(1u, record_.gpu().max_workgroup_invocations()));
  }
  std::int64_t shared_bytes() const { return record_.gpu().shared_bytes(); }
  // An arena up to which launches need not share memory: the last cache of large GPUs holds 50 MB and more.
  std::uint64_t small_arena_bytes() const { return std::uint64_t{48} << 20; }
  // Multiply-adds of f32 that a GPU computes while memory gives it a byte: an A100 6, an MI250X 7, an H100 10, an
  // MI300X 15.
  double multiply_adds_per_byte() const { return 8; }
  // The cost of a barrier, in multiply-adds of an invocation: some 30 cycles, while its subgroup waits for the others.
  double barrier_cost() const { return 30; }
  // Invocations that run in step.
  std::int64_t subgroup_size() const { return std::max(1u, record_.gpu().subgroup_size()); }

  // The most units of one launch; 0: any number.
  std::int64_t max_units() const { return can_.max_units; }
  // The most rounds that all loops of one invocation may have together; 0: any number. Beyond it results are wrong or
  // the device is lost.
  std::int64_t max_loop_rounds() const;
  // The most rounds of one reduction: a kernel may have several beside the loop over its results.
  std::int64_t max_reduction_rounds() const { return max_loop_rounds() / kLoopsOfOneKernel; }
  // Workgroups of one launch that every device of the kind has; units beyond them take turns.
  std::int64_t max_workgroups() const { return can_.max_workgroups; }
  // The largest allocation; 0: as large as memory.
  std::uint64_t max_buffer_bytes() const { return record_.gpu().max_buffer_bytes(); }

  // What compiles blobs for it (blobs/library/manifest.h); empty: it has none.
  const std::string& blob_toolchain() const { return can_.blob_toolchain; }
  // Whether code for `arch` (the first part of a triple, or a GPU's name) runs on it.
  bool runs(std::string_view arch) const { return !arch.empty() && arch == can_.arch; }
  // The GPU's name as compilers of blobs take it; empty where they need none.
  const std::string& blob_arch() const { return record_.arch(); }

  // Whether a search may time kernels for it.
  bool is_tuned() const { return can_.is_tuned; }
  // As a user names it: "cpu", "vulkan:lavapipe".
  const std::string& device() const { return record_.device(); }
  std::string name() const;

 private:
  static std::int64_t or_else(std::uint32_t said, std::int64_t unsaid) { return said > 0 ? said : unsaid; }
  static constexpr std::int64_t kLoopsOfOneKernel = 8;  // a softmax has three, attention five

  v1::Target record_;
  Capabilities can_;
};

}  // namespace hearth::target
