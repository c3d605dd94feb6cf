// Buffers, variables and grid part of one kernel run, with every access checked.
//
// Borrows the caller's tensors; only their dtype and bytes matter (kernels index flat elements). Errors: an access
// outside the buffer names the slot, the index, the size and the index expression. Not thread-safe.
//
//   std::vector<HostTensor> buffers = {out, in};
//   KernelRun run{buffers, vars};
//   KernelMemory memory(run);
#pragma once
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/host_tensor.h"
#include "compiler/codegen/reference/lane_ops.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

struct GridPart {
  std::int64_t begin = 0, end = 0;  // half open
};

struct KernelRun {
  std::span<HostTensor> buffers;       // by ParamInfo.slot; stores write here
  std::span<const std::int64_t> vars;  // by VarInfo.slot
  std::optional<GridPart> grid = {};   // absent: the whole grid
};

// An element that a kernel loads or stores.
struct TouchedElement {
  ir::UOpRef memory = nullptr;  // param or allocation
  const std::uint8_t* address = nullptr;
  std::int64_t index = 0;
  bool is_store = false;
  ir::UOpRef where = nullptr;  // the access
};

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  virtual absl::Status touch(const TouchedElement& element) = 0;
};

class KernelMemory {
 public:
  using Instance = std::vector<std::int64_t>;

  // `observer`, which may be null, outlives it, and sees every access before it is made.
  explicit KernelMemory(const KernelRun& run, AccessObserver* observer = nullptr) : run_(run), observer_(observer) {}

  // `lanes` elements: from `indices[0]` on if there is one index, else one an index. A lane whose gate is false takes
  // its lane of `alternative`. `gate` and `alternative` have one or `lanes` elements. `where` is for messages.
  // `param` is a Param, or an Allocate with `instance`, the values of its sources; an Allocate starts as garbage.
  absl::StatusOr<Value> load(ir::UOpRef param, ir::DType dtype, const Value& indices, const Value& gate,
                             const Value& alternative, ir::UOpRef where, const Instance& instance = {});
  absl::Status store(ir::UOpRef param, ir::DType dtype, const Value& indices, const Value& gate, const Value& value,
                     ir::UOpRef where, const Instance& instance = {});
  absl::StatusOr<std::int64_t> variable(ir::UOpRef var) const;

 private:
  // The address of the element of one lane.
  absl::StatusOr<std::uint8_t*> address(ir::UOpRef param, const Instance& instance, ir::DType dtype,
                                        const Value& indices, std::size_t lane, bool is_store, ir::UOpRef where);
  absl::StatusOr<HostTensor*> buffer_of(ir::UOpRef param, const Instance& instance);

  const KernelRun& run_;
  AccessObserver* const observer_;
  std::map<std::pair<ir::UOpRef, Instance>, HostTensor> allocations_;  // looked up, never iterated
};

}  // namespace hearth::codegen::reference
