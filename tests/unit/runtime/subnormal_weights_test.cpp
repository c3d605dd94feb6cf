#include "runtime/weights/subnormal_weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/weights/weight_layout.h"

using namespace hearth;
using namespace hearth::runtime;

namespace {

void add_kernel(Plan& plan, std::vector<std::uint32_t> summed_slots) {
  plan.kernels.emplace_back().summed_slots = std::move(summed_slots);
}

void add_launch(Plan& plan, std::uint32_t kernel, std::vector<std::uint32_t> buffers, bool once = false) {
  PlanLaunch& launch = plan.launches.emplace_back();
  launch.kernel = kernel;
  launch.buffers = std::move(buffers);
  launch.once = once;
}

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

TEST_CASE("subnormal values are counted and become zeros of their sign, and no other value changes", "[host]") {
  const float least = std::numeric_limits<float>::min(), tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> values = {
      0.0F, -0.0F,    tiny,      -tiny, least, -least, std::nextafter(least, 0.0F), std::nextafter(-least, 0.0F),
      1.0F, INFINITY, -INFINITY, NAN};
  const std::vector<float> expected = {0.0F, -0.0F, 0.0F, -0.0F,    least,     -least,
                                       0.0F, -0.0F, 1.0F, INFINITY, -INFINITY, NAN};
  std::vector<float> many, wanted;  // more than a block's count fits, and an odd end
  for (int i = 0; i < 3001; ++i) {
    many.insert(many.end(), values.begin(), values.end());
    wanted.insert(wanted.end(), expected.begin(), expected.end());
  }
  CHECK(*count_subnormals(bytes_of(many), DType::kF32) == 4 * 3001);
  zero_subnormals(many.data(), many.size() * sizeof(float), DType::kF32);
  CHECK(std::memcmp(many.data(), wanted.data(), many.size() * sizeof(float)) == 0);
  CHECK(*count_subnormals(bytes_of(many), DType::kF32) == 0);

  std::vector<std::uint16_t> halves, zeroed;  // bf16: the upper halves of f32
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool is_subnormal = (bits & 0x7f80) == 0 && (bits & 0x7f) != 0;
    halves.push_back(static_cast<std::uint16_t>(bits));
    zeroed.push_back(static_cast<std::uint16_t>(is_subnormal ? bits & 0x8000 : bits));
  }
  const std::string_view bytes(reinterpret_cast<const char*>(halves.data()), halves.size() * 2);
  CHECK(*count_subnormals(bytes, DType::kBF16) == 2 * 127);
  CHECK(*count_subnormals(bytes, DType::kF16) == 0);  // those of f16 are none in f32
  zero_subnormals(halves.data(), halves.size() * 2, DType::kBF16);
  CHECK(halves == zeroed);
}

TEST_CASE("weights lose subnormal values where every launch of a replay only sums them", "[host]") {
  Plan plan;
  const auto add = [&](v1::PlanBuffer::Kind kind, DType dtype = DType::kF32) {
    PlanBuffer buffer;
    buffer.kind = kind;
    buffer.dtype = dtype;
    plan.buffers.push_back(buffer);
  };
  add(v1::PlanBuffer::OUTPUT);                  // 0
  add(v1::PlanBuffer::PARAMETER);               // 1: summed
  add(v1::PlanBuffer::PERSISTENT);              // 2: summed by one launch, read otherwise by another
  add(v1::PlanBuffer::CONSTANT);                // 3: summed
  add(v1::PlanBuffer::PARAMETER);               // 4: read by a `once` launch alone
  add(v1::PlanBuffer::INPUT);                   // 5: no weight
  add(v1::PlanBuffer::PARAMETER, DType::kF64);  // 6: another type
  add_kernel(plan, {1, 2, 3, 4, 5});
  add_kernel(plan, {});
  add_launch(plan, 0, {2, 4}, /*once=*/true);
  add_launch(plan, 0, {0, 1, 2, 3, 5, 6});
  add_launch(plan, 1, {0, 2});
  const std::vector<bool> expected = {false, true, false, true, false, false, false};
  CHECK(loses_subnormals(plan, Subnormals::kResults) == expected);
  CHECK(loses_subnormals(plan, Subnormals::kAll) == expected);
  CHECK(loses_subnormals(plan, Subnormals::kKeep) == std::vector<bool>(7));
}

TEST_CASE("weights without their subnormal values are another block than those with them", "[host]") {
  Plan plan;
  plan.persistent_bytes = 64;
  plan.buffers.resize(2);
  plan.buffers[0].kind = v1::PlanBuffer::PERSISTENT;
  plan.buffers[1].kind = v1::PlanBuffer::PARAMETER;
  add_kernel(plan, {});
  add_launch(plan, 0, {0, 1}, /*once=*/true);
  const std::vector<ParameterFit> fits(2, ParameterFit::kFits);
  const auto key = [&](std::vector<bool> loses) {
    const WeightLayout layout = weight_layout(plan, fits, WeightLayout::kMinBytes, std::move(loses));
    return weight_key(plan, layout, {Digest{}});
  };
  CHECK(key({}) == key({false, false}));
  CHECK(key({}) != key({true, false}));
}
