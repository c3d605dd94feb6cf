// Which values of weights a kernel only multiplies and adds, and each use that makes them more than that.
#include "compiler/passes/kernel/summed_slots.h"

#include <catch2/catch.hpp>

#include "compiler/ir/text.h"

namespace hearth {
namespace {

// The summed slots of a kernel over 8 elements. It loads a value as %7 (slot 2) and a weight as %10 (slot 1) and stores
// %20, which `lines` compute.
std::vector<bool> summed(const std::string& lines, const std::string& dtype = "f32", const std::string& at = "%1") {
  ir::Graph g;
  const std::string text =
      "%0 = param f32 [slot=0]\n"
      "%1 = range index 8:index [axis=0 loop]\n"
      "%2 = range index 4:index [axis=1 reduce]\n"
      "%3 = param " +
      dtype +
      " [slot=1]\n"
      "%4 = param f32 [slot=2]\n"
      "%5 = index void %0 %1 true:bool\n"
      "%6 = index void %4 %1 true:bool\n"
      "%7 = load f32 %6\n"
      "%8 = cast index %7\n"
      "%9 = index void %3 " +
      at +
      " true:bool\n"
      "%10 = load " +
      dtype + " %9\n" + lines + "%30 = store void %5 %20 %1\n%31 = sink void %30 [symbol=k]\n";
  const absl::StatusOr<ir::UOpRef> kernel = ir::parse(g, text);
  INFO(text << kernel.status());
  REQUIRE(kernel.ok());
  return passes::summed_slots(*kernel, 3);
}

bool is_summed(const std::string& lines) { return summed(lines)[1]; }

TEST_CASE("weights that are factors, terms, chosen factors or integers are summed") {
  CHECK(is_summed("%20 = mul f32 %7 %10\n"));
  CHECK(is_summed("%20 = add f32 %7 %10\n"));
  CHECK(is_summed("%20 = sub f32 %7 %10\n"));
  CHECK(is_summed("%20 = fma f32 %7 %10 %10\n"));
  CHECK(is_summed("%11 = neg f32 %10\n%20 = mul f32 %7 %11\n"));
  CHECK(is_summed("%11 = lt bool %7 0.0:f32\n%12 = where f32 %11 %10 0.0:f32\n%20 = mul f32 %7 %12\n"));
  CHECK(is_summed("%11 = mul f32 %7 %10\n%20 = reduce f32 %11 %2 [sum]\n"));
  CHECK(is_summed("%20 = reduce f32 %10 %2 [sum]\n"));
  CHECK(is_summed("%11 = cast i32 %10\n%20 = cast f32 %11\n"));
  CHECK(summed("%11 = cast f32 %10\n%20 = mul f32 %7 %11\n", "bf16")[1]);
}

TEST_CASE("weights that are divided by, compared, copied or in a function of theirs are not") {
  CHECK_FALSE(is_summed("%20 = div f32 %7 %10\n"));
  CHECK_FALSE(is_summed("%20 = div f32 %10 %7\n"));
  CHECK_FALSE(is_summed("%11 = mul f32 %7 %10\n%20 = div f32 %11 %10\n"));
  CHECK_FALSE(is_summed("%11 = neg f32 %10\n%12 = recip f32 %11\n%20 = mul f32 %7 %12\n"));
  CHECK_FALSE(is_summed("%20 = max f32 %7 %10\n"));
  CHECK_FALSE(is_summed("%20 = reduce f32 %10 %2 [max]\n"));
  CHECK_FALSE(is_summed("%11 = lt bool %10 0.0:f32\n%20 = where f32 %11 %7 0.0:f32\n"));
  CHECK_FALSE(is_summed("%11 = lt bool %7 0.0:f32\n%20 = where f32 %11 %10 0.0:f32\n"));
  CHECK_FALSE(is_summed("%20 = log f32 %10\n"));
  CHECK_FALSE(is_summed("%11 = bitcast i32 %10\n%20 = cast f32 %11\n"));
  CHECK_FALSE(is_summed("%11 = cast f64 %10\n%12 = mul f64 %11 %11\n%20 = cast f32 %12\n"));
  CHECK_FALSE(summed("%11 = cast f32 %10\n%20 = mul f32 %7 %11\n", "f16")[1]);
  CHECK_FALSE(summed("%20 = mul f32 %7 %10\n", "f32", "%8")[1]);  // a table: a value decides what is read
}

TEST_CASE("a slot that is not read is not summed, and what is stored to neither") {
  const std::vector<bool> slots = summed("%20 = mul f32 %10 %10\n");
  CHECK(slots == std::vector<bool>{false, true, false});
}

}  // namespace
}  // namespace hearth
