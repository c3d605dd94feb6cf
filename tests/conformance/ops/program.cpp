#include "tests/conformance/ops/program.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/kernel_abi.h"
#include "compiler/codegen/reference/graph_interpreter.h"
#include "compiler/codegen/reference/kernel_interpreter.h"
#include "compiler/codegen/reference/linear_interpreter.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "compiler/codegen/reference/workgroup_interpreter.h"
#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/passes/import/import.h"
#include "tests/conformance/aarch64/aarch64_runner.h"
#include "tests/conformance/ops/guarded_block.h"

namespace hearth::conformance {

using codegen::reference::evaluate;
using codegen::reference::interpret_wire;
using codegen::reference::WireBindings;

namespace reference = codegen::reference;

// One kernel of the plan in its three forms.
struct Program::Kernel {
  ir::Graph graph;
  ir::UOpRef ast = nullptr;
  std::vector<ir::UOpRef> linear;
  std::vector<ir::Scalar> slots;  // dtype of every buffer slot
  int file = -1;                  // stays open while the library is: dlopen tells libraries apart by name
  void* library = nullptr;
  void* entry = nullptr;  // a hearth_kernel_fn
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  ~Kernel() {
    if (library != nullptr) dlclose(library);
    if (file >= 0) close(file);
  }
};

namespace {

absl::Status open_artifact(const std::string& bytes, const std::string& symbol, int* file, void** library,
                           void** entry) {
  *file = memfd_create("kernel", MFD_CLOEXEC);
  if (*file < 0 || write(*file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return absl::InternalError("cannot write an artifact to memory");
  }
  *library = dlopen(absl::StrCat("/proc/self/fd/", *file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (*library == nullptr) return absl::InternalError(absl::StrCat("dlopen: ", dlerror()));
  *entry = dlsym(*library, symbol.c_str());
  return *entry != nullptr ? absl::OkStatus() : absl::InternalError(absl::StrCat("no symbol ", symbol));
}

// A body in the order of its lines, after its constants, which the text has inline.
absl::StatusOr<std::vector<ir::UOpRef>> parse_body(ir::Graph& graph, const std::string& text) {
  absl::StatusOr<std::vector<ir::UOpRef>> lines = ir::parse_list(graph, text);
  if (!lines.ok()) return lines.status();
  std::vector<ir::UOpRef> body;
  for (ir::UOpRef node : ir::toposort(*lines)) {
    if (node->is_const()) body.push_back(node);
  }
  body.insert(body.end(), lines->begin(), lines->end());
  return body;
}

std::vector<ir::Scalar> slot_dtypes(ir::UOpRef ast) {
  std::vector<ir::Scalar> slots;
  for (ir::UOpRef node : ir::toposort(ast)) {
    if (!node->is(ir::Op::Param)) continue;
    const std::uint32_t slot = node->as<ir::ParamInfo>().slot;
    if (slot >= slots.size()) slots.resize(slot + 1, ir::Scalar::Void);
    slots[slot] = node->dtype.scalar;
  }
  return slots;
}

// Where the views of a loop are at a step: what plan.proto says of LoopView.
void see_step(const v1::Plan& plan, std::uint32_t loop, std::int64_t step, std::int64_t count,
              const std::vector<std::size_t>& sizes, std::vector<std::uint8_t*>& addresses) {
  const std::function<std::uint8_t*(int, std::int64_t)> address = [&](int buffer, std::int64_t at) -> std::uint8_t* {
    const v1::LoopView& view = plan.buffers(buffer).view();
    switch (view.kind()) {
      case v1::LoopView::SLICE:
        return addresses[view.buffer()] +
               static_cast<std::size_t>(view.reverse() ? count - 1 - at : at) * sizes[buffer];
      case v1::LoopView::CARRIED:
        return addresses[(count - at) % 2 == 1 ? view.buffer() : view.other()];
      default:
        return at == 0 ? addresses[view.buffer()] : address(static_cast<int>(view.other()), at - 1);
    }
  };
  for (int buffer = 0; buffer < plan.buffers_size(); ++buffer) {
    const v1::PlanBuffer& seen = plan.buffers(buffer);
    if (seen.kind() == v1::PlanBuffer::VIEW && seen.view().loop() == loop) addresses[buffer] = address(buffer, step);
  }
}

// A loop that makes fewer rounds needs fewer barriers.
bool is_longest(const std::vector<ir::UOpRef>& body, const reference::KernelRun& run) {
  return std::ranges::all_of(
      body, [&](ir::UOpRef x) { return !x->is(ir::Op::Var) || run.vars[x->as<ir::VarInfo>().slot] == x->bounds.max; });
}

// A workgroup at a time, where units are theirs; of a few small ones every barrier has to be needed.
absl::Status run_linear(const std::vector<ir::UOpRef>& body, const reference::KernelRun& run) {
  constexpr std::int64_t kMostInvocations = 64, kMostWorkgroups = 8;
  const auto invocation =
      std::ranges::find_if(body, [](ir::UOpRef x) { return ir::is_range(x, ir::RangeKind::Invocation); });
  if (invocation == body.end()) return interpret_linear(body, run);
  const reference::WorkgroupRun how = {
      .invocations = (*invocation)->bounds.max + 1, .workgroups = run.grid->end, .first = run.grid->begin};
  if (how.invocations <= kMostInvocations && how.workgroups - how.first <= kMostWorkgroups && is_longest(body, run)) {
    const absl::StatusOr<std::vector<std::uint32_t>> redundant = redundant_barriers(body, run, how);
    if (!redundant.ok()) return redundant.status();
    if (!redundant->empty())
      return absl::FailedPreconditionError(absl::StrCat("barrier ", redundant->front(), " orders nothing"));
  }
  return interpret_workgroups(body, run, how);
}

}  // namespace

Program::Program(v1::Graph graph) : Program(std::move(graph), on_gpu() ? gpu_target() : host_target()) {}
Program::Program(v1::Graph graph, v1::Target target, TuningRecords records)
    : graph_(std::move(graph)), target_(std::move(target)), records_(std::move(records)) {
  options_.set_opt_level(2);
  options_.set_dump(true);
  prepared_ = lower();
}
Program::~Program() = default;

std::string Program::text() const { return graph_.DebugString(); }

absl::Status Program::lower() {
  absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(graph_, target_, options_, records_);
  if (!lowered.ok()) return lowered.status();
  lowered_ = *std::move(lowered);
  return absl::OkStatus();
}

const std::vector<ir::UOpRef>& Program::linear_kernel(std::size_t kernel) {
  prepare().IgnoreError();  // then there is no kernel, and this throws
  return kernels_.at(kernel)->linear;
}

const absl::Status& Program::prepare() {
  if (!std::exchange(is_compiled_, true) && prepared_.ok()) prepared_ = compile();
  return prepared_;
}

absl::Status Program::compile() {
  for (int k = 0; k < lowered_.kernels_size(); ++k) {
    auto kernel = std::make_unique<Kernel>();
    const v1::KernelSpec& spec = lowered_.kernels(k);
    absl::StatusOr<ir::UOpRef> ast = ir::parse(kernel->graph, spec.ast());
    if (!ast.ok()) return ast.status();
    kernel->ast = *ast;
    kernel->slots = slot_dtypes(*ast);
    absl::StatusOr<v1::CompiledKernel> compiled = compiler::compile_kernel(spec, target_, options_);
    if (!compiled.ok())
      return absl::Status(compiled.status().code(), absl::StrCat(compiled.status().message(), "\n", spec.ast()));
    for (const v1::PassReport& report : compiled->passes()) {
      if (report.name() != "linearize") continue;
      absl::StatusOr<std::vector<ir::UOpRef>> linear = parse_body(kernel->graph, report.text());
      if (!linear.ok()) return linear.status();
      kernel->linear = *std::move(linear);
    }
    if (kernel->linear.empty()) return absl::InternalError("compile_kernel dumped no linear body");
    if (on_gpu() || on_aarch64()) {
      artifacts_.push_back(compiled->artifact().data());
      kernels_.push_back(std::move(kernel));
      continue;
    }
    absl::Status opened =
        open_artifact(compiled->artifact().data(), spec.symbol(), &kernel->file, &kernel->library, &kernel->entry);
    if (!opened.ok()) return opened;
    kernels_.push_back(std::move(kernel));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensors> Program::run_reference(const Feed& feed) const {
  WireBindings bindings;
  for (const v1::Node& node : graph_.nodes()) {
    if (node.op() != v1::INPUT && node.op() != v1::PARAMETER) continue;
    if (bindings.size() >= feed.inputs.size()) return absl::InvalidArgumentError("test: too few inputs");
    bindings.emplace(node.name(), feed.inputs[bindings.size()]);
  }
  return interpret_wire(graph_, bindings, feed.vars);
}

absl::StatusOr<Tensors> Program::run_imported(const Feed& feed) const {
  ir::Graph graph;
  absl::StatusOr<passes::ImportedGraph> imported = passes::import_graph(graph, graph_);
  if (!imported.ok()) return imported.status();
  reference::Bindings bindings;
  std::size_t next_input = 0;
  for (std::size_t id = 0; id < imported->buffers.size(); ++id) {
    const passes::ImportedBuffer& buffer = imported->buffers[id];
    if (buffer.kind != ir::BufferKind::Constant) {
      if (next_input >= feed.inputs.size()) return absl::InvalidArgumentError("test: too few inputs");
      bindings.emplace(id, feed.inputs[next_input++]);
      continue;
    }
    HostTensor constant;
    constant.dtype = buffer.dtype.scalar;
    for (ir::UOpRef dim : buffer.shape) constant.shape.push_back(dim->int_value());
    constant.bytes.assign(buffer.data.begin(), buffer.data.end());
    bindings.emplace(id, std::move(constant));
  }
  return reference::interpret(imported->outputs, bindings, feed.vars);
}

// Where a child process runs them, whose launches are sent together.
static bool is_recorded(Program::Execution execution) {
  return execution == Program::Execution::Gpu || (execution == Program::Execution::Compiled && on_aarch64());
}

absl::Status Program::launch(const v1::Launch& launch, const Feed& feed, Execution execution, const Memory& memory,
                             reference::GridPart part) {
  Kernel& kernel = *kernels_[launch.kernel()];
  std::vector<std::int64_t> vars;
  for (const std::uint32_t var : launch.vars()) vars.push_back(feed.vars.at(var));
  if (is_recorded(execution)) {
    RunnerLaunch& recorded = recorded_.emplace_back();
    recorded.module = &artifacts_[launch.kernel()];
    recorded.symbol = lowered_.kernels(static_cast<int>(launch.kernel())).symbol();
    recorded.begin = part.begin, recorded.end = part.end;
    recorded.workgroup_size = target_.gpu().workgroup_size();
    for (const std::uint32_t buffer : launch.buffers()) recorded.buffers.push_back(memory.addresses[buffer]);
    recorded.vars = vars;
    for (const v1::LaunchCondition& condition : launch.run_if())
      recorded.run_if.emplace_back(memory.addresses[condition.buffer()], condition.value());
    return absl::OkStatus();
  }
  for (const v1::LaunchCondition& condition : launch.run_if())
    if ((*memory.addresses[condition.buffer()] != 0) != condition.value()) return absl::OkStatus();
  if (execution == Execution::Compiled) {
    std::vector<void*> slots;
    for (const std::uint32_t buffer : launch.buffers()) slots.push_back(memory.addresses[buffer]);
    reinterpret_cast<hearth_kernel_fn>(kernel.entry)(slots.data(), vars.data(), part.begin, part.end);
    return absl::OkStatus();
  }
  Tensors buffers(static_cast<std::size_t>(launch.buffers_size()));
  if (kernel.slots.size() > buffers.size())
    return absl::InternalError("the launch has fewer buffers than the kernel has slots");
  for (int slot = 0; slot < launch.buffers_size(); ++slot) {
    const std::uint32_t buffer = launch.buffers(slot);
    const std::uint8_t* begin = memory.addresses[buffer];
    buffers[slot].dtype = static_cast<std::size_t>(slot) < kernel.slots.size() ? kernel.slots[slot] : ir::Scalar::Void;
    buffers[slot].bytes.assign(begin, begin + memory.sizes[buffer]);
  }
  const reference::KernelRun run{buffers, vars, part};
  absl::Status status =
      execution == Execution::Ast ? interpret_kernel(kernel.ast, run) : run_linear(kernel.linear, run);
  if (!status.ok()) {
    return absl::Status(
        status.code(), absl::StrCat(status.message(), "\n", lowered_.kernels(static_cast<int>(launch.kernel())).ast()));
  }
  for (int slot = 0; slot < launch.buffers_size(); ++slot)
    std::copy(buffers[slot].bytes.begin(), buffers[slot].bytes.end(), memory.addresses[launch.buffers(slot)]);
  return absl::OkStatus();
}

// Launches [first, end), which are one or a parallel region. Parts cover the grid in an order that must not matter:
// the last one first, but in one execution of a region the first one, so that nothing is made by chance before it is
// read.
absl::Status Program::fork(int first, int end, const Feed& feed, Execution execution, const Memory& memory) {
  const v1::Plan& plan = lowered_.plan();
  const std::int64_t grid = evaluate(plan.launches(first).grid(), feed.vars);
  std::vector<reference::GridPart> parts = {{grid - grid / 3, grid}, {grid / 3, grid - grid / 3}, {0, grid / 3}};
  if (execution == Execution::Gpu) parts = {{0, grid}};
  if (end - first > 1 && execution == Execution::Linear) std::ranges::reverse(parts);
  for (const reference::GridPart& part : parts) {
    if (part.begin >= part.end) continue;
    for (int i = first; i < end; ++i) {
      if (evaluate(plan.launches(i).grid(), feed.vars) != grid)
        return absl::InternalError(absl::StrCat("launch ", i, " of a region has another grid than launch ", first));
      absl::Status status = launch(plan.launches(i), feed, execution, memory, part);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status Program::run_recorded(std::span<const RunnerBlock> blocks) {
  const std::vector<RunnerLaunch> launches = std::exchange(recorded_, {});
  if (on_aarch64()) {
    const absl::StatusOr<RunnerProcess*> runner = aarch64_runner();
    return runner.ok() ? (*runner)->run(blocks, launches) : runner.status();
  }
  const absl::StatusOr<VulkanRunner*> runner = VulkanRunner::get();
  return runner.ok() ? (*runner)->run(blocks, launches) : runner.status();
}

absl::StatusOr<Tensors> Program::run(const Feed& feed, Execution execution) {
  if (execution == Execution::Imported) return run_imported(feed);
  if (!prepare().ok()) return prepared_;
  if (execution == Execution::Gpu && !on_vulkan()) return replay(feed);
  const v1::Plan& plan = lowered_.plan();
  std::deque<GuardedBlock> blocks;
  GuardedBlock arena(plan.arena_bytes(), 64), persistent(plan.persistent_bytes(), 64);
  Memory memory;
  auto& [addresses, sizes] = memory;
  std::vector<std::size_t> outputs;
  std::size_t next_input = 0;
  for (const v1::PlanBuffer& buffer : plan.buffers()) {
    const auto element = static_cast<std::size_t>(ir::byte_size(static_cast<ir::Scalar>(buffer.dtype())));
    std::size_t size = element;
    for (const v1::Expr& dim : buffer.shape()) size *= static_cast<std::size_t>(evaluate(dim, feed.vars));
    if (size > buffer.max_bytes())
      return absl::InternalError(absl::StrCat("buffer of ", size, " bytes, max_bytes ", buffer.max_bytes()));
    sizes.push_back(size);
    if (buffer.kind() == v1::PlanBuffer::VIEW) {
      addresses.push_back(nullptr);
      continue;
    }
    if (buffer.kind() == v1::PlanBuffer::ARENA || buffer.kind() == v1::PlanBuffer::PERSISTENT) {
      const GuardedBlock& block = buffer.kind() == v1::PlanBuffer::ARENA ? arena : persistent;
      if (buffer.offset() % 64 != 0 || buffer.offset() + buffer.max_bytes() > block.size()) {
        return absl::InternalError(
            absl::StrCat("offset ", buffer.offset(), " + ", buffer.max_bytes(), " in a block of ", block.size()));
      }
      addresses.push_back(block.data() + buffer.offset());
      continue;
    }
    blocks.emplace_back(size, element);
    addresses.push_back(blocks.back().data());
    const void* source = nullptr;
    if (buffer.kind() == v1::PlanBuffer::OUTPUT) {
      outputs.push_back(addresses.size() - 1);
    } else if (buffer.kind() == v1::PlanBuffer::CONSTANT) {
      if (buffer.data().size() != size) return absl::InternalError("a constant's data has the wrong size");
      source = buffer.data().data();
    } else {
      if (next_input >= feed.inputs.size() || feed.inputs[next_input].bytes.size() != size)
        return absl::InternalError("inputs do not fit");
      source = feed.inputs[next_input++].bytes.data();
    }
    if (source != nullptr && size != 0) std::memcpy(blocks.back().data(), source, size);
  }
  for (int first = 0; first < plan.launches_size();) {
    const auto loop = std::ranges::find_if(
        plan.loops(), [&](const v1::PlanLoop& l) { return static_cast<int>(l.first_launch()) == first; });
    const bool is_loop = loop != plan.loops().end();
    const std::int64_t count = is_loop ? evaluate(loop->count(), feed.vars) : 1;
    const int end = first + (is_loop ? static_cast<int>(loop->num_launches()) : 1);
    int next = first;
    for (std::int64_t step = 0; step < count; ++step) {
      if (is_loop)
        see_step(plan, static_cast<std::uint32_t>(loop - plan.loops().begin()), step, count, sizes, addresses);
      for (int i = first; i < end; i = next) {
        const auto region = std::ranges::find_if(
            plan.regions(), [&](const v1::ParallelRegion& r) { return static_cast<int>(r.first_launch()) == i; });
        next = i + (region != plan.regions().end() ? static_cast<int>(region->num_launches()) : 1);
        absl::Status status = fork(i, next, feed, execution, memory);
        if (!status.ok()) return status;
      }
    }
    first = next;
  }
  if (is_recorded(execution)) {
    std::vector<RunnerBlock> all = {{arena.data(), arena.size()}, {persistent.data(), persistent.size()}};
    for (const GuardedBlock& block : blocks) all.push_back({block.data(), block.size(), block.alignment()});
    if (absl::Status ran = run_recorded(all); !ran.ok()) return ran;
  }
  for (const GuardedBlock& block : blocks) {
    if (!block.front_is_untouched()) return absl::InternalError("a kernel wrote in front of a buffer");
  }
  Tensors results;
  for (const std::size_t output : outputs) {
    HostTensor tensor;
    const v1::PlanBuffer& buffer = plan.buffers(static_cast<int>(output));
    tensor.dtype = static_cast<ir::Scalar>(buffer.dtype());
    for (const v1::Expr& dim : buffer.shape()) tensor.shape.push_back(evaluate(dim, feed.vars));
    tensor.bytes.assign(addresses[output], addresses[output] + sizes[output]);
    results.push_back(std::move(tensor));
  }
  return results;
}

}  // namespace hearth::conformance
