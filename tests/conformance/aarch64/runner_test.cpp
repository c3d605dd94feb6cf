// What runs kernels of AArch64: what is missing is named, and a kernel that goes wrong is seen.
#include <catch2/catch.hpp>

#include "compiler/compile.h"
#include "tests/conformance/aarch64/aarch64_runner.h"
#include "tests/conformance/ops/graph_builder.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/skip.h"

namespace hearth::conformance {

TEST_CASE("what running AArch64's kernels needs is named where it is missing") {
  const auto message = [](const std::string& program, const std::optional<std::string>& emulator) {
    const absl::Status status = start_aarch64_runner(program, emulator).status();
    CHECK(absl::IsNotFound(status));
    return std::string(status.message());
  };
  CHECK_THAT(message("/nowhere/hearth-aarch64-runner", "/usr/bin/qemu-aarch64"),
             Catch::Contains("gcc-aarch64-linux-gnu is not installed"));
#if !defined(__aarch64__)
  CHECK_THAT(message("/bin/true", std::nullopt), Catch::Contains("qemu-user is not installed"));
  CHECK_THAT(message("/bin/true", "/bin/false"),
             Catch::Contains("qemu-user is too old") && Catch::Contains("exit code 1"));
  CHECK_THAT(message("/bin/true", "/nowhere/qemu"), Catch::Contains("exit code 127"));
#endif
}

TEST_CASE("a kernel of AArch64 that leaves its buffers ends its process, and the next run is right") {
  const absl::StatusOr<RunnerProcess*> runner = aarch64_runner();
  if (!runner.ok()) SKIP_CASE(std::string(runner.status().message()));
  GraphBuilder b;
  const Node x = b.input(v1::F32, {4096});
  b.output(b.op(v1::ADD, {x, x}));
  v1::CompileOptions options;
  options.set_opt_level(2);
  const v1::Target target = host_target();
  const auto plan = compiler::lower(b.graph(), target, options);
  REQUIRE((plan.ok() && plan->kernels_size() == 1));
  const auto compiled = compiler::compile_kernel(plan->kernels(0), target, options);
  REQUIRE(compiled.ok());
  const auto run = [&](std::size_t elements, const std::string& symbol) {
    std::vector<float> in(elements, 3), out(elements, 0);
    auto* const to = reinterpret_cast<std::uint8_t*>(out.data());
    auto* const from = reinterpret_cast<std::uint8_t*>(in.data());
    const RunnerBlock blocks[] = {{to, 4 * elements, 4}, {from, 4 * elements, 4}};
    const RunnerLaunch launches[] = {{.module = &compiled->artifact().data(),
                                      .symbol = symbol,
                                      .end = plan->plan().launches(0).grid().tokens(0).value(),
                                      .buffers = {to, from},
                                      .vars = {}}};
    const absl::Status status = (*runner)->run(blocks, launches);
    if (status.ok()) CHECK(out == std::vector<float>(elements, 6));
    return status;
  };
  const std::string symbol = plan->kernels(0).symbol();
  CHECK(run(4096, symbol).ok());
  CHECK_THAT(std::string(run(4095, symbol).message()), Catch::Contains("ended with signal 11"));
  CHECK_THAT(std::string(run(4096, "another").message()), Catch::Contains("undefined symbol: another"));
  CHECK(run(4096, symbol).ok());
}

}  // namespace hearth::conformance
