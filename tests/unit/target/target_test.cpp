// What passes ask of a target, for the records that have a name.
#include "compiler/target/target.h"

#include <catch2/catch.hpp>

#include "runtime/devices/named_target.h"

namespace hearth::target {
namespace {

Target known(const std::string& name) { return *runtime::named_target(name); }

TEST_CASE("processors have vectors, and masks where every lane has a bit") {
  CHECK(known("cpu:x86-64-v3").lanes(4) == 8);
  CHECK(known("cpu:x86-64-v4").lanes(4) == 16);
  CHECK(known("cpu:armv8.2-a").lanes(2) == 8);
  CHECK_FALSE(known("cpu:x86-64-v3").has_masks());
  CHECK(known("cpu:x86-64-v4").has_masks());
  CHECK(known("cpu:x86-64-v3").vector_registers() == 16);
  CHECK(known("cpu:armv8.2-a").vector_registers() == 32);
  CHECK(known("cpu:x86-64-v4").has_scaleb());
}

TEST_CASE("what a record leaves open has a default") {
  v1::Target record;
  record.set_device("cpu");
  CHECK(Target(record).l2_bytes() == 1 << 20);
  CHECK(Target(record).fork_work() == 40'000);
  CHECK(Target(record).lanes(4) == 0);
}

TEST_CASE("bytes are multiplied by a matrix unit where the processor has one, bf16 by the better of two") {
  using ir::Scalar;
  CHECK_FALSE(known("cpu:x86-64-v3").vector_unit(Scalar::U8, Scalar::I8));
  CHECK(known("cpu:x86-64-v3").vector_unit(Scalar::BF16, Scalar::BF16)->cycles == 1);
  v1::Target wide = *runtime::named_target("cpu:x86-64-v4");
  wide.add_features("avx512vnni");
  wide.add_features("avx512bf16");
  CHECK(Target(wide).vector_unit(Scalar::U8, Scalar::I8)->group == 4);
  CHECK(Target(wide).vector_unit(Scalar::I8, Scalar::I8)->widen_registers == 2);
  CHECK(Target(wide).vector_unit(Scalar::BF16, Scalar::BF16)->cycles == 0.5);
  wide.add_features("amx-bf16");  // Intel's, which execute it slowly
  CHECK(Target(wide).vector_unit(Scalar::BF16, Scalar::BF16)->cycles == 1);
}

TEST_CASE("a Vulkan device runs units as invocations, scalar, and keeps no rows yet") {
  const Target lavapipe = known("vulkan:lavapipe");
  CHECK(lavapipe.unit() == Unit::Invocation);
  CHECK(lavapipe.lanes(4) == 0);
  CHECK(lavapipe.allocation_bytes() == 0);
  CHECK(lavapipe.workgroup_size() == 64);
  CHECK(lavapipe.name() == "vulkan:lavapipe");
  CHECK_FALSE(lavapipe.vector_unit(ir::Scalar::BF16, ir::Scalar::BF16));
  CHECK(lavapipe.is_tuned());
  CHECK_FALSE(known("null").is_tuned());
}

TEST_CASE("host blobs are for processors of their kind") {
  CHECK(known("cpu:x86-64-v3").runs("x86_64"));
  CHECK_FALSE(known("cpu:x86-64-v3").runs("aarch64"));
  CHECK_FALSE(known("cpu:x86-64-v3").runs(""));
  CHECK(known("cpu:armv8.2-a").blob_toolchain() == "c++");
  CHECK(known("null").blob_toolchain().empty());
  CHECK(known("vulkan:lavapipe").blob_toolchain().empty());
}

}  // namespace
}  // namespace hearth::target
