// LinearMachine: one invocation of a linear kernel body (the form in compiler/passes/lowered/linearize.h) while it runs.
//
// Executes the list in order with a program counter. An accumulator rounds to its dtype at every update, as the
// generated code does. Errors: a value used before it is computed or outside its loop, an access outside its buffer,
// loops that are not nested, an op that the form does not allow. Not thread-safe. Inside codegen/reference only.
//
//   LinearMachine machine(body, {.grid = part}, memory);
//   HEARTH_RETURN_IF_ERROR(machine.prepare());
//   absl::StatusOr<std::optional<std::size_t>> barrier = machine.run();   // the line of a barrier; nothing: it has ended
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "compiler/codegen/reference/kernel_memory.h"
#include "compiler/codegen/reference/subgroup_product.h"
#include "compiler/ir/uop.h"

namespace hearth::codegen::reference {

// Which invocation it is.
struct InvocationPlace {
  std::optional<GridPart> grid;  // absent: the whole grid
  std::int64_t invocation = 0;   // in its workgroup
  std::int64_t num_invocations = 1;
};

class LinearMachine {
 public:
  // All outlive it.
  LinearMachine(std::span<const ir::UOpRef> body, InvocationPlace place, KernelMemory& memory)
      : body_(body), place_(place), memory_(memory) {}

  absl::Status prepare();
  // From the beginning, or from behind the barrier at which it stopped, to the next one or the end; or to a wmma of a
  // subgroup, whose result is given to it before it goes on.
  absl::StatusOr<std::optional<std::size_t>> run();
  absl::StatusOr<SubgroupOperands> operands() const;
  void give(Value product);
  // Where it is in the loops around the line at which it stopped, outermost first.
  std::vector<std::int64_t> rounds() const;

 private:
  static constexpr std::size_t kNoLine = static_cast<std::size_t>(-1);

  // One line of the body while it runs.
  struct Line {
    ir::UOpRef node = nullptr;
    absl::InlinedVector<std::size_t, 3> sources;  // lines; kNoLine: listed nowhere
    std::size_t end = kNoLine;                    // range: the line of its End
    std::int64_t limit = 0;                       // range: where it stops this time
    bool computed = false;
    Value value;
    bool started = false;  // accumulator
    Value accumulated;
  };
  // Where index(param, i[, gate]) points; true gates that are absent.
  struct Access {
    ir::UOpRef memory = nullptr;
    std::int64_t first = 0;  // of a matrix
    Value position, gate = {Element::of_int(1)};
    KernelMemory::Instance instance;  // values of an Allocate's sources
  };

  absl::Status read_lines();
  absl::Status match_loops();
  absl::StatusOr<Line*> source_of(const Line& line, std::size_t k);
  absl::StatusOr<const Value*> value_of(const Line& line, std::size_t k) const;
  static void set(Line& line, Value value);
  absl::StatusOr<std::size_t> enter(Line& line, std::size_t at);
  std::size_t repeat(Line& end, std::size_t at);
  absl::StatusOr<Access> access_of(const Line& line);
  absl::StatusOr<Value> load(const Line& line);
  absl::Status store(const Line& line);
  absl::StatusOr<Value*> accumulator_of(const Line& line);
  absl::Status update(const Line& line);
  absl::StatusOr<Value> compute(Line& line);
  absl::StatusOr<std::size_t> step(Line& line, std::size_t at);

  std::span<const ir::UOpRef> body_;
  const InvocationPlace place_;
  KernelMemory& memory_;
  std::vector<Line> lines_;  // of body_, by position
  std::size_t next_ = 0;
  Value product_;  // of the wmma that is next
  bool has_product_ = false;
};

}  // namespace hearth::codegen::reference
