// Emitter: linear kernel body -> one compute shader of the GPU kernel ABI (base/kernel_abi.h): each invocation, or where
// the body says so each workgroup, takes units of the launch, from its own number on, in steps of all of them. INTERNAL
// names the node of a malformed body, UNIMPLEMENTED the feature that a node needs and the target lacks.
//
//   absl::StatusOr<std::vector<std::uint32_t>> words = Emitter(kernel, target).run();
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/spirv/arithmetic.h"
#include "compiler/codegen/spirv/module.h"
#include "compiler/passes/lowered/linearize.h"

namespace hearth::codegen::spirv {

class Emitter {
 public:
  Emitter(const passes::LinearKernel& kernel, const target::Target& target);
  // Once.
  absl::StatusOr<std::vector<std::uint32_t>> run();

 private:
  using Id = spv::Id;

  struct Loop {
    ir::UOpRef range;
    spv::Builder::LoopBlocks* blocks;
    Id counter, step;
  };
  struct Access {  // a resolved index
    Id pointer = spv::NoResult;
    Id gate = spv::NoResult;  // none: always
    ir::Scalar element = ir::Scalar::Void;
    bool is_allocation = false, is_shared = false;
  };

  void prologue();
  absl::Status body();
  absl::Status emit(ir::UOpRef node);
  absl::Status declare_param(ir::UOpRef node);
  absl::Status declare_allocation(ir::UOpRef node);
  bool is_shared(ir::UOpRef allocation) const;
  void barrier();
  absl::Status open_range(ir::UOpRef node);
  absl::Status close_range(ir::UOpRef node);
  absl::Status accumulate(ir::UOpRef node);
  absl::StatusOr<Access> access_of(ir::UOpRef index);
  absl::Status load(ir::UOpRef node);
  absl::Status store(ir::UOpRef node);
  absl::Status compute(ir::UOpRef node);
  // Matrices that a subgroup multiplies (emit_matrix.cpp).
  void find_matrices();
  bool is_matrix(ir::UOpRef node) const { return matrices_.contains(node); }
  absl::Status emit_matrix(ir::UOpRef node);
  absl::Status accumulate_matrix(ir::UOpRef node);
  absl::Status store_matrix(ir::UOpRef node);
  absl::StatusOr<Id> product(ir::UOpRef wmma, Id sums);
  Id zero_sums(const ir::WmmaInfo& unit, ir::Scalar scalar);

  absl::StatusOr<Id> value(ir::UOpRef node);
  Id row_word(std::uint64_t place);  // of the launch's row
  Id read(const Access& access);
  spv::MemoryAccessMask access_mask(const Access& access) const;
  Id variable(Id type, const std::string& name);
  bool has_grid() const;
  absl::Status malformed(ir::UOpRef node, const std::string& reason) const;

  const passes::LinearKernel& kernel_;
  const ir::UOpRef workgroup_;  // its Invocation range; null: units are invocations
  const std::uint32_t workgroup_size_, subgroup_size_;
  Module m_;
  spv::Builder& b_;
  Arithmetic arithmetic_;
  spv::Function* function_ = nullptr;
  spv::Instruction* entry_ = nullptr;
  Id row_ = spv::NoResult, units_ = spv::NoResult, local_ = spv::NoResult;
  Id first_unit_ = spv::NoResult, unit_step_ = spv::NoResult;
  std::unordered_map<ir::UOpRef, Id> values_;  // NoResult: a node without a value; of params their addresses
  std::unordered_map<std::uint32_t, std::pair<Id, Id>>
      allocated_memory_;  // by AllocationInfo::memory: variable, its type
  std::vector<Loop> loops_;
  std::unordered_map<ir::UOpRef, ir::WmmaInfo> matrices_;  // values and accumulators that are matrices, and their unit
  std::unordered_set<ir::UOpRef> only_summed_;             // products of accumulators' updates alone
  bool in_grid_ = false;
};

}  // namespace hearth::codegen::spirv
