// hearth-vulkan-runner: runs what VulkanRunner sends on standard input, one message at a time, on the first Vulkan
// device (HEARTH_TEST_VULKAN_DEVICE: another one, by number) and answers on standard output, until that is closed. With
// HEARTH_VULKAN_VALIDATION=1 under the validation layer, each of whose messages fails the run.
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "tests/conformance/runner/runner_wire.h"
#include "tests/conformance/vulkan/vulkan_device.h"

int main() {
  using namespace hearth::conformance;
  namespace v1 = hearth::v1;
  const int out = ::dup(1);  // drivers may print to standard output
  ::dup2(2, 1);
  std::unique_ptr<VulkanDevice> device;
  WireWriter hello;
  try {
    device = std::make_unique<VulkanDevice>();
    hello.number(1);
    hello.text(device->name());
    const v1::GpuLimits& matrices = device->matrices();
    hello.number(matrices.subgroup_size());
    for (const v1::CooperativeMatrix& matrix : {matrices.cooperative_matrix(), matrices.cooperative_byte_matrix()}) {
      for (const std::uint32_t size : {matrix.m(), matrix.n(), matrix.k()}) hello.number(size);
    }
  } catch (const std::exception& error) {
    hello.number(0);
    hello.text(error.what());
  }
  if (!hello.send(out) || !device) return 0;
  WireReader request;
  while (request.receive(0)) {
    WireWriter reply;
    try {
      WireWriter good;
      good.number(1);
      device->run(request, good);
      reply = std::move(good);
    } catch (const std::exception& error) {
      reply.number(0);
      reply.text(error.what());
    }
    if (!reply.send(out)) break;
  }
  device.reset();
  return 0;
}
