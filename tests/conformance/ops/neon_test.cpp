// What AArch64 gets, seen without such a machine: the instructions of a compiled product.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "base/kernel_abi.h"
#include "compiler/compile.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

// Destination registers of all FMLA (vector, or by element) on four f32 lanes in little-endian machine code, by the
// encodings of the Arm Architecture Reference Manual, C7.2.
std::set<std::uint32_t> fmla_registers(const std::string& code) {
  std::set<std::uint32_t> found;
  for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, code.data() + i, 4);
    const bool by_vector = (word & 0xffe0fc00) == 0x4e20cc00, by_element = (word & 0xffc0f400) == 0x4f801000;
    if (by_vector || by_element) found.insert(word & 31);
  }
  return found;
}

TEST_CASE("a product for AArch64 is a register tile of fmla") {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("aarch64-unknown-linux-gnu");
  target.add_features("neon");
  target.set_vector_bits(128);
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  GraphBuilder b;
  b.output(b.op(v1::MATMUL, {b.input(v1::F32, {192, 256}), b.parameter(v1::F32, {256, 320})}));
  v1::CompileOptions options;
  options.set_opt_level(2);
  const auto plan = compiler::lower(b.graph(), target, options);
  REQUIRE(plan.ok());
  std::size_t most = 0;
  for (const v1::KernelSpec& kernel : plan->kernels()) {
    const auto compiled = compiler::compile_kernel(kernel, target, options);
    INFO(compiled.status().ToString() << "\n" << kernel.ast());
    REQUIRE(compiled.ok());
    most = std::max(most, fmla_registers(compiled->artifact().data()).size());
  }
  CHECK(most >= 16);  // of 32; the rest holds operands
}

}  // namespace
}  // namespace hearth::conformance
