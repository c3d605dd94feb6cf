// Kernels of workgroups on the machine's own Vulkan device, beside the interpreter of workgroups.
#include <catch2/catch.hpp>

#include "compiler/codegen/reference/workgroup_interpreter.h"
#include "compiler/codegen/spirv/codegen.h"
#include "runtime/devices/named_target.h"
#include "tests/conformance/vulkan/vulkan_runner.h"
#include "tests/support/skip.h"
#include "tests/support/workgroup_kernels.h"

namespace hearth::conformance {
namespace {

using codegen::reference::HostTensor;
using codegen::reference::interpret_workgroups;

HostTensor numbers(std::int64_t elements) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(static_cast<double>(i * 7 % 11));
  return HostTensor::from_values(ir::Scalar::F32, {elements}, values);
}

}  // namespace

TEST_CASE("workgroups of two to a thousand invocations sum rows in shared memory, several rows one after the other") {
  const absl::StatusOr<VulkanRunner*> runner = VulkanRunner::get();
  if (absl::IsNotFound(runner.status())) SKIP_CASE("there is no Vulkan device");
  REQUIRE(runner.ok());
  const target::Target target(*runtime::named_target("vulkan:lavapipe"));
  for (const std::int64_t width : {2, 8, 64, 256, 1024}) {
    for (const std::int64_t rounds : {1, 3}) {
      INFO(width << " invocations, " << rounds << " rounds");
      const auto kernel = test::parsed(test::tree_sum(width, rounds));
      const absl::StatusOr<std::string> module =
          codegen::spirv::compile({.symbol = "sums", .body = kernel->body, .num_buffers = 2, .num_vars = 0}, target);
      INFO(module.status().message());
      REQUIRE(module.ok());
      const std::int64_t elements = test::kGroups * rounds * width;
      std::vector<HostTensor> want = {HostTensor(ir::Scalar::F32, {elements}), numbers(elements)};
      if (width <= 64) {
        REQUIRE(
            interpret_workgroups(kernel->body, {want, {}}, {.invocations = width, .workgroups = test::kGroups}).ok());
      } else {
        for (std::int64_t i = 0; i < elements; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < width; ++k) sum += want[1].get(i / width * width + k).f;
          want[0].set(i, codegen::reference::Element::of_float(sum));
        }
      }
      // A workgroup each, and one that takes all of them in turn.
      for (const std::uint32_t units_of_workgroup : {1, 3}) {
        std::vector<HostTensor> got = {HostTensor(ir::Scalar::F32, {elements}), numbers(elements)};
        const VulkanRunner::Block blocks[] = {{got[0].bytes.data(), got[0].bytes.size()},
                                              {got[1].bytes.data(), got[1].bytes.size()}};
        const VulkanRunner::Launch launches[] = {{.module = &*module,
                                                  .end = test::kGroups,
                                                  .workgroup_size = units_of_workgroup,
                                                  .buffers = {got[0].bytes.data(), got[1].bytes.data()},
                                                  .vars = {}}};
        const absl::Status ran = (*runner)->run(blocks, launches);
        INFO(ran.message());
        REQUIRE(ran.ok());
        CHECK(got[0] == want[0]);
      }
    }
  }
}

}  // namespace hearth::conformance
