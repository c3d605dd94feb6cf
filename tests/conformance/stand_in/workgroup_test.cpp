// Kernels of workgroups as they are compiled for CUDA's and HIP's GPUs, on stand-ins of their drivers
// (HEARTH_TEST_DEVICE): shared memory and barriers, invocations in any order.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "base/kernel_abi.h"
#include "compiler/codegen/generator.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/cuda/cuda_api.h"
#include "runtime/hal/hip/hip_api.h"
#include "tests/support/workgroup_kernels.h"

namespace hearth::conformance {
namespace {

const runtime::StreamApi& api() {
  const bool is_cuda = std::string(std::getenv("HEARTH_TEST_DEVICE")) == "cuda";
  const auto opened = is_cuda ? runtime::cuda_api() : runtime::hip_api();
  if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
  return **opened;
}

// Memory of the device with these bytes.
struct DeviceMemory {
  DeviceMemory(const runtime::Device& device, const void* bytes, std::size_t size)
      : of(device), buffer(*device.allocate(size, "a test", runtime::MemoryUse::kDevice)) {
    REQUIRE(of.write(buffer, 0, bytes, size).ok());
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(buffer.address()); }
  const runtime::Device& of;
  runtime::Buffer buffer;
};

}  // namespace

TEST_CASE("workgroups of two to a thousand invocations sum rows in shared memory, a workgroup each and in turns") {
  const absl::StatusOr<const runtime::Device*> found = runtime::find_device(std::getenv("HEARTH_TEST_DEVICE"));
  REQUIRE(found.ok());
  const runtime::Device& device = **found;
  const target::Target target(device.target(1));
  for (const std::int64_t width : {2, 8, 64, 256, 1024}) {
    for (const std::int64_t rounds : {1, 3}) {
      INFO(width << " invocations, " << rounds << " rounds");
      const auto kernel = test::parsed(test::tree_sum(width, rounds));
      const absl::StatusOr<v1::Artifact> made = codegen::generator_for(target).compile(
          {.symbol = "sums", .body = kernel->body, .num_buffers = 2, .num_vars = 0}, target, {});
      INFO(made.status().message());
      REQUIRE(made.ok());
      const auto elements = static_cast<std::size_t>(test::kGroups * rounds * width);
      std::vector<float> in(elements), out(elements, -1), want(elements, 0);
      for (std::size_t i = 0; i < elements; ++i) in[i] = static_cast<float>(i * 7 % 11);
      for (std::size_t i = 0; i < elements; ++i) {
        const std::size_t row = i / static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
        for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) want[i] += in[row + k];
      }
      for (const unsigned groups : {3U, 1U}) {
        const DeviceMemory output(device, out.data(), elements * sizeof(float)),
            input(device, in.data(), elements * sizeof(float));
        const std::uint64_t words[] = {test::kGroups, output.address(), input.address()};
        const DeviceMemory row(device, words, sizeof words);
        void *previous = nullptr, *module = nullptr, *function = nullptr, *stream = nullptr;
        REQUIRE(api().enter(0, &previous) == 0);
        std::string log;
        REQUIRE(api().module_load(&module, made->data(), &log) == 0);
        REQUIRE(api().module_function(&function, module, "sums") == 0);
        REQUIRE(api().stream_create(&stream, runtime::kStreamNonBlocking) == 0);
        std::uint64_t argument = row.address();
        void* parameters[] = {&argument};
        REQUIRE(api().launch(function, groups, 1, 1, static_cast<unsigned>(width), 1, 1, 0, stream, parameters,
                             nullptr) == 0);
        REQUIRE(api().stream_synchronize(stream) == 0);
        CHECK(api().stream_destroy(stream) == 0);
        CHECK(api().module_unload(module) == 0);
        api().leave(previous);
        std::vector<float> got(elements);
        REQUIRE(device.read(output.buffer, 0, got.data(), elements * sizeof(float)).ok());
        CHECK(got == want);
      }
    }
  }
}

}  // namespace hearth::conformance
