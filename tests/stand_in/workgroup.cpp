#include "tests/stand_in/workgroup.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "compiler/ir/matrix_layout.h"
#include "tests/stand_in/stand_in.h"

namespace hearth::stand_in {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10, kGuardBytes = 4096;
constexpr std::int64_t kNowhere = -2;
constexpr std::int64_t kSecondWait = std::int64_t{1} << 40;  // further than all places

// Of one invocation, or of who runs them.
#if defined(__x86_64__)
// Registers that a call keeps, and where it returns to: on the stack that is left.
extern "C" void hearth_stand_in_switch(void** from, void* to);
asm(R"(
.text
.local hearth_stand_in_switch
.type hearth_stand_in_switch, @function
hearth_stand_in_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size hearth_stand_in_switch, .-hearth_stand_in_switch
)");

class Context {
 public:
  void begin(char* stack, std::size_t bytes, void (*entry)()) {
    auto* top = reinterpret_cast<std::uintptr_t*>(stack + bytes);
    *--top = 0;  // where entry would return to; it does not
    *--top = reinterpret_cast<std::uintptr_t>(entry);
    for (int i = 0; i < 6; ++i) *--top = 0;
    pointer_ = top;
  }
  void switch_to(Context& other) { hearth_stand_in_switch(&pointer_, other.pointer_); }

 private:
  void* pointer_ = nullptr;
};
#else
class Context {
 public:
  void begin(char* stack, std::size_t bytes, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  void switch_to(Context& other) { swapcontext(&context_, &other.context_); }

 private:
  ucontext_t context_ = {};
};
#endif

struct Invocation {
  hearth_simt_workgroup workgroup = {};    // first: what a kernel gives back is this
  std::int64_t value = 0;                  // that it exchanges
  const float *a = nullptr, *b = nullptr;  // of a product that it waits in
  Context context;
  std::int64_t waits_at = kNowhere;
  bool has_ended = false;
};

Context scheduler;
Invocation* current = nullptr;
const WorkgroupLaunch* launched = nullptr;

// With a page below that nobody may touch; kept for the next.
char* stack_of(std::size_t number) {
  static auto& stacks = *new std::vector<char*>;
  while (stacks.size() <= number) {
    void* const memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) broken("a kernel", "there is no memory for its invocations' stacks");
    mprotect(memory, kGuardBytes, PROT_NONE);
    stacks.push_back(static_cast<char*>(memory) + kGuardBytes);
  }
  return stacks[number];
}

void run_invocation() {
  launched->code(launched->row, launched->workgroup, launched->workgroups, &current->workgroup);
  current->has_ended = true;
  current->context.switch_to(scheduler);
}

void wait(const hearth_simt_workgroup* workgroup, std::int64_t place) {
  if (workgroup != &current->workgroup) broken("a kernel", "a barrier of another invocation's");
  current->waits_at = place;
  current->context.switch_to(scheduler);
}

std::int64_t exchange(const hearth_simt_workgroup* workgroup, std::int64_t place, std::int64_t mask,
                      std::int64_t value) {
  Invocation* const self = current;
  self->value = value;
  wait(workgroup, place);
  const std::int64_t number = workgroup->invocation;
  const std::int64_t taken = (self - number + (number ^ mask))->value;
  wait(workgroup, place + kSecondWait);
  return taken;
}

// Between two barriers, so that the operands of all are there.
void multiply(const hearth_simt_workgroup* workgroup, std::int64_t place, std::int64_t layout, const float* a,
              const float* b, float* sums) {
  Invocation* const self = current;
  self->a = a, self->b = b;
  wait(workgroup, place);
  const ir::MatrixShape& shape = ir::shape_of(static_cast<ir::MatrixLayout>(layout));
  const auto number = static_cast<std::uint32_t>(workgroup->invocation);
  const Invocation* const subgroup = self - number % shape.subgroup;
  std::vector<double> left(std::size_t{shape.m} * shape.k), right(std::size_t{shape.k} * shape.n);
  for (std::uint32_t i = 0; i < shape.subgroup; ++i) {
    for (std::uint32_t e = 0; e < shape.a.elements; ++e) {
      const ir::MatrixStep at = shape.a.at(i, e);
      left[std::size_t{at.row} * shape.k + at.column] = static_cast<double>(subgroup[i].a[e]);
    }
    for (std::uint32_t e = 0; e < shape.b.elements; ++e) {
      const ir::MatrixStep at = shape.b.at(i, e);
      right[std::size_t{at.row} * shape.n + at.column] = static_cast<double>(subgroup[i].b[e]);
    }
  }
  for (std::uint32_t e = 0; e < shape.sum.elements; ++e) {
    const ir::MatrixStep at = shape.sum.at(number % shape.subgroup, e);
    double sum = 0;
    for (std::size_t k = 0; k < shape.k; ++k)
      sum += left[std::size_t{at.row} * shape.k + k] * right[k * shape.n + at.column];
    sums[e] += static_cast<float>(sum);
  }
  wait(workgroup, place + kSecondWait);
}

}  // namespace

void run_workgroup(const WorkgroupLaunch& launch, std::mt19937_64& random) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(launch.shared_bytes, 64)) / 64 * 64;
  const std::unique_ptr<void, decltype(&std::free)> shared(std::aligned_alloc(64, bytes), &std::free);
  std::memset(shared.get(), 0xFF, bytes);  // NaNs
  std::vector<Invocation> all(static_cast<std::size_t>(launch.invocations));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].workgroup = {static_cast<std::int64_t>(i), shared.get(), &wait, &multiply, &exchange};
    all[i].context.begin(stack_of(i), kStackBytes, &run_invocation);
  }
  launched = &launch;
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      current = &all[i];
      scheduler.switch_to(current->context);
    }
    for (const Invocation& one : all) {
      if (one.has_ended != all[0].has_ended)
        broken("a kernel", "an invocation has ended while others wait at a barrier");
      if (!one.has_ended && one.waits_at != all[0].waits_at)
        broken("a kernel", "invocations of a workgroup wait at different barriers");
    }
  } while (!all[0].has_ended);
}

}  // namespace hearth::stand_in
