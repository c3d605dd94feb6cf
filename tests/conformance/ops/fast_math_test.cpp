// CompileOptions.fast_math: the rules that break NaN, infinity or rounding run when asked for, and only then.
#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "compiler/compile.h"
#include "tests/conformance/ops/feeds.h"
#include "tests/conformance/ops/graph_builder.h"

namespace hearth::conformance {
namespace {

// The only kernel of (x * y) / y after its last simplification.
std::string kernel_text(bool fast_math) {
  GraphBuilder b;
  const Node x = b.input(v1::F32, {16}), y = b.input(v1::F32, {16});
  b.output(b.op(v1::DIV, {b.op(v1::MUL, {x, y}), y}));
  v1::CompileOptions options;
  options.set_opt_level(2);
  options.set_fast_math(fast_math);
  options.set_dump(true);
  const v1::Target target = host_target();
  const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(b.graph(), target, options);
  REQUIRE(lowered.ok());
  REQUIRE(lowered->kernels_size() == 1);
  const absl::StatusOr<v1::CompiledKernel> kernel = compiler::compile_kernel(lowered->kernels(0), target, options);
  REQUIRE(kernel.ok());
  for (const v1::PassReport& pass : kernel->passes()) {
    if (pass.name() == "simplify") return pass.text();
  }
  FAIL("no report of simplify");
  return "";
}

TEST_CASE("fast math is off by default and cancels when it is on") {
  CHECK(absl::StrContains(kernel_text(false), "= div f32"));
  CHECK_FALSE(absl::StrContains(kernel_text(true), "= div f32"));
  CHECK_FALSE(absl::StrContains(kernel_text(true), "= mul f32"));
}

}  // namespace
}  // namespace hearth::conformance
