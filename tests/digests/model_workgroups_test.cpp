// Every kernel of the models at hand whose units are workgroups, as it is compiled for devices with subgroups of 8, 32 and
// 64, in the interpreter of workgroups: the first and the last workgroup of a launch, on values that are drawn, give what
// the interpreter of the kernel's tree gives; no race, no divergent barrier, nothing read before it is written; and leaving
// out any one barrier is reported. What a workgroup computes for minutes is left out, and counted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/reference/kernel_interpreter.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "compiler/codegen/reference/workgroup_interpreter.h"
#include "compiler/compile.h"
#include "compiler/ir/text.h"
#include "compiler/pipeline.h"
#include "runtime/devices/named_target.h"
#include "tests/digests/digest_cases.h"
#include "tests/support/skip.h"

namespace hearth::digests {
namespace {

namespace reference = codegen::reference;
using reference::Element;
using reference::HostTensor;

// Of what one workgroup computes, and of all runs with a barrier left out.
constexpr double kMostOps = 4e6, kMostOpsOfBarriers = 1e7;

v1::Target target_with(std::uint32_t subgroup) {
  v1::Target target = *runtime::named_target("vulkan:lavapipe");
  if (subgroup == 8) return target;
  v1::GpuLimits& gpu = *target.mutable_gpu();
  gpu.set_subgroup_size(subgroup);
  gpu.set_shared_bytes(48 << 10);
  for (const auto clear :
       {&v1::GpuLimits::clear_register_values, &v1::GpuLimits::clear_wanted_invocations,
        &v1::GpuLimits::clear_load_cost, &v1::GpuLimits::clear_shared_load_cost, &v1::GpuLimits::clear_single_loads})
    (gpu.*clear)();
  return target;
}

// Small numbers; 0 where positions are kept.
void fill(HostTensor& tensor, std::mt19937_64& random) {
  if (!ir::is_float(tensor.dtype)) return;
  std::uniform_real_distribution<double> values(-1, 1);
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) tensor.set(i, Element::of_float(values(random)));
}

struct Counts {
  std::size_t kernels = 0, workgroups = 0, barriers = 0, needed = 0, too_long = 0;
};

struct Launched {
  const v1::LoweredPlan& lowered;
  const v1::Launch& launch;
  const v1::KernelSpec& spec;
  const v1::PlanKernel& kernel;
};

std::vector<HostTensor> buffers_of(const Launched& of, ir::UOpRef root, std::mt19937_64& random) {
  std::vector<HostTensor> buffers(static_cast<std::size_t>(of.launch.buffers_size()));
  for (ir::UOpRef x : ir::toposort(root)) {
    if (!x->is(ir::Op::Param)) continue;
    const std::uint32_t slot = x->as<ir::ParamInfo>().slot;
    const v1::PlanBuffer& buffer =
        of.lowered.plan().buffers(static_cast<int>(of.launch.buffers(static_cast<int>(slot))));
    const std::int64_t size = ir::byte_size(x->dtype.scalar);
    buffers[slot] = HostTensor(x->dtype.scalar, {static_cast<std::int64_t>(buffer.max_bytes()) / size});
    fill(buffers[slot], random);
  }
  return buffers;
}

// Where two runs differ by more than their order of sums explains; empty: nowhere.
std::string difference(const HostTensor& got, const HostTensor& want) {
  const bool is_narrow = ir::byte_size(got.dtype) < 4;
  for (std::int64_t i = 0; i < got.num_elements(); ++i) {
    const Element a = got.get(i), b = want.get(i);
    const bool is_same = ir::is_float(got.dtype)
                             ? a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) ||
                                   std::fabs(a.f - b.f) <= (is_narrow ? 2e-2 : 1e-4) * (1 + std::fabs(b.f))
                             : a.i == b.i;
    if (!is_same) return absl::StrCat("element ", i, " is ", a.f, " or ", a.i, ", not ", b.f, " or ", b.i);
  }
  return "";
}

void check(const Launched& of, const target::Target& target, Counts& counts) {
  ir::Graph g;
  const absl::StatusOr<ir::UOpRef> root = ir::parse(g, of.spec.ast());
  REQUIRE(root.ok());
  const v1::CompileOptions options;
  google::protobuf::RepeatedPtrField<v1::PassReport> reports;
  passes::PassLog log(&reports, false);
  const absl::StatusOr<passes::LinearKernel> linear = compiler::linear_kernel(of.spec, {g, target, options, log});
  INFO(linear.status().message());
  REQUIRE(linear.ok());
  const ir::UOpRef workgroup = passes::workgroup_of(*linear);
  REQUIRE(workgroup);
  std::vector<std::int64_t> all_vars, vars;
  for (const v1::Variable& var : of.lowered.plan().vars()) all_vars.push_back(var.max());
  for (const std::uint32_t var : of.launch.vars()) vars.push_back(all_vars[var]);
  const std::int64_t grid = reference::evaluate(of.launch.grid(), all_vars);
  if (grid == 0) return;
  const double ops = static_cast<double>(of.kernel.num_ops()) / static_cast<double>(grid);
  if (ops > kMostOps) {
    ++counts.too_long;
    return;
  }
  ++counts.kernels;
  std::mt19937_64 random(7);
  const std::vector<HostTensor> before = buffers_of(of, *root, random);
  reference::WorkgroupRun how = {.invocations = workgroup->bounds.max + 1, .workgroups = 1, .first = 0};
  for (const std::int64_t number : std::set<std::int64_t>{0, grid - 1}) {
    INFO("workgroup " << number << " of " << grid << "\n" << of.spec.ast());
    how.first = number, how.workgroups = number + 1;
    std::vector<HostTensor> got = before, want = before;
    const reference::GridPart part = {number, number + 1};
    const absl::Status ran = reference::interpret_workgroups(linear->body, {got, vars, part}, how);
    INFO(ran.message());
    REQUIRE(ran.ok());
    const absl::Status expected = reference::interpret_kernel(*root, {want, vars, part});
    INFO(expected.message());
    REQUIRE(expected.ok());
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(difference(got[i], want[i]) == "");
    ++counts.workgroups;
  }
  const auto barriers = std::ranges::count_if(linear->body, [](ir::UOpRef x) { return x->is(ir::Op::Barrier); });
  counts.barriers += static_cast<std::size_t>(barriers);
  if (ops * static_cast<double>(barriers) > kMostOpsOfBarriers) return;
  std::vector<HostTensor> buffers = before;
  const auto redundant =
      reference::redundant_barriers(linear->body, {buffers, vars, {{how.first, how.workgroups}}}, how);
  REQUIRE(redundant.ok());
  INFO(of.spec.ast());
  CHECK(redundant->empty());
  counts.needed += static_cast<std::size_t>(barriers);
}

}  // namespace

TEST_CASE("workgroups of all models' kernels race with nobody, and need each of their barriers") {
  const char* const source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  std::vector<DigestCase> cases = digest_cases(source_dir, "");
  std::erase_if(cases, [](const DigestCase& c) { return !c.name.starts_with("models/"); });
  REQUIRE_FALSE(cases.empty());
  std::vector<std::uint32_t> subgroups = {32};
  if (std::getenv("HEARTH_TEST_LONG") != nullptr) subgroups = {8, 32, 64};
  for (const std::uint32_t subgroup : subgroups) {
    const v1::Target record = target_with(subgroup);
    const target::Target target(record);
    std::set<std::string> seen;
    Counts counts;
    for (const DigestCase& c : cases) {
      const absl::StatusOr<v1::Graph> graph = c.graph();
      INFO(c.name << " by subgroups of " << subgroup << ": " << graph.status().message());
      REQUIRE(graph.ok());
      const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(*graph, record, {});
      INFO(lowered.status().message());
      REQUIRE(lowered.ok());
      for (const v1::Launch& launch : lowered->plan().launches()) {
        const auto number = static_cast<int>(launch.kernel());
        const v1::PlanKernel& kernel = lowered->plan().kernels(number);
        if (!kernel.unit_is_workgroup() || !seen.insert(lowered->kernels(number).ast()).second) continue;
        check({*lowered, launch, lowered->kernels(number), kernel}, target, counts);
      }
    }
    std::printf(
        "subgroups of %u: %zu kernels of workgroups, %zu workgroups run; %zu of %zu barriers left out one by one; "
        "%zu kernels too long\n",
        subgroup, counts.kernels, counts.workgroups, counts.needed, counts.barriers, counts.too_long);
    if (counts.too_long > 0 || counts.needed < counts.barriers)
      test::skip_part(absl::StrCat("subgroups of ", subgroup, ": kernels whose workgroups compute for minutes"));
    CHECK(counts.kernels > 10);
    CHECK(counts.needed > 0);
  }
}

}  // namespace hearth::digests
