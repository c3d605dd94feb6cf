#include "hearth/view.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/skip.h"
#include "tests/unit/fp8_judge.h"

using namespace hearth;
using Catch::Matchers::Contains;
using hearth::runtime::ConstView;
using hearth::runtime::MutableView;

namespace {

// Memory of `count` elements, filled with a pattern, and the views of it.
struct Memory {
  std::vector<std::uint64_t> words;
  MutableView view;
  Memory(DType dtype, std::size_t count) : words(count, 0x5555555555555555U) {
    view = {words.data(), count * dtype_bytes(dtype), dtype, {static_cast<std::int64_t>(count)}, "mel"};
  }
  ConstView read() const { return {view.data, view.size_bytes, view.dtype, view.shape, view.name}; }
};

template <typename T>
void check_round_trip(DType dtype, const std::vector<T>& values) {
  INFO(dtype_name(dtype));
  CHECK(dtype_of<T>() == dtype);
  Memory memory(dtype, values.size() + 2);
  REQUIRE(memory.view.fill(values.back()).ok());
  REQUIRE(memory.view.copy_from(values).ok());
  const auto written = memory.view.as<T>();
  const auto read = memory.read().as<T>();
  REQUIRE((written.ok() && read.ok()));
  REQUIRE(read->size() == values.size() + 2);
  CHECK(static_cast<const void*>(written->data()) == memory.words.data());
  CHECK(std::equal(values.begin(), values.end(), read->begin()));
  CHECK(read->back() == values.back());  // what is beyond stays as it was
  // Bytes are those of the elements, in order.
  CHECK(std::memcmp(memory.words.data(), values.data(), values.size() * sizeof(T)) == 0);
}

void check_refused(const absl::Status& status, const std::string& text) {
  CHECK(absl::IsInvalidArgument(status));
  CHECK(std::string(status.message()) == text);
}

}  // namespace

TEST_CASE("elements of every dtype are written and read by their C++ type") {
  check_round_trip<std::int8_t>(DType::kI8, {-128, 0, 127});
  check_round_trip<std::int16_t>(DType::kI16, {-32768, 5});
  check_round_trip<std::int32_t>(DType::kI32, {std::numeric_limits<std::int32_t>::min(), 7});
  check_round_trip<std::int64_t>(DType::kI64, {std::numeric_limits<std::int64_t>::max(), -1});
  check_round_trip<std::uint8_t>(DType::kU8, {255, 1});
  check_round_trip<std::uint16_t>(DType::kU16, {65535, 1});
  check_round_trip<std::uint32_t>(DType::kU32, {4294967295U, 1});
  check_round_trip<std::uint64_t>(DType::kU64, {std::numeric_limits<std::uint64_t>::max(), 1});
  check_round_trip<float>(DType::kF32, {-0.5F, 3e38F});
  check_round_trip<double>(DType::kF64, {1e-300, -7});
  check_round_trip<Float16>(DType::kF16, {Float16(0.5), Float16(-65504)});
  check_round_trip<BFloat16>(DType::kBF16, {BFloat16(3e38), BFloat16(-2)});
  check_round_trip<Float8E4M3>(DType::kF8E4M3, {Float8E4M3(448), Float8E4M3(-0.25)});
  check_round_trip<Float8E5M2>(DType::kF8E5M2, {Float8E5M2(57344), Float8E5M2(1)});
  Memory flags(DType::kBool, 3);
  REQUIRE(flags.view.copy_from({true, false, true}).ok());
  const auto read = flags.read().as<bool>();
  CHECK(((*read)[0] && !(*read)[1] && (*read)[2]));
}

TEST_CASE("a wrong element type is refused naming the buffer and both types, and nothing is written") {
  Memory memory(DType::kF16, 4);
  const std::string text = "buffer 'mel' has elements of f16, not f32";
  check_refused(memory.view.as<float>().status(), text);
  check_refused(memory.view.fill(1.0F), text);
  check_refused(memory.view.copy_from(std::vector<float>(4)), text);
  check_refused(memory.read().as<float>().status(), text);
  check_refused(memory.read().as<std::int16_t>().status(), "buffer 'mel' has elements of f16, not i16");
  CHECK(memory.words == std::vector<std::uint64_t>(4, 0x5555555555555555U));
}

TEST_CASE("more elements than there is room for are refused, and nothing is written") {
  Memory memory(DType::kI32, 4);
  check_refused(memory.view.copy_from(std::vector<std::int32_t>(5)),
                "buffer 'mel' has room for 4 elements of i32; 5 were given");
  Memory half(DType::kF16, 4);
  check_refused(half.view.round_from(std::vector<float>(5)),
                "buffer 'mel' has room for 4 elements of f16; 5 were given");
  for (const Memory* one : {&memory, &half}) CHECK(one->words == std::vector<std::uint64_t>(4, 0x5555555555555555U));
}

TEST_CASE("floats are rounded to every float type and read back") {
  const std::vector<float> floats = {1, -0.3F, 1e-3F, 100};
  const auto check = [&](DType dtype, const std::vector<float>& want) {
    INFO(dtype_name(dtype));
    Memory memory(dtype, 4);
    REQUIRE(memory.view.round_from(floats).ok());
    CHECK(*memory.read().to_floats() == want);
  };
  // By hand: 0.3 = 1.2 * 2^-2, 0.001 = 1.024 * 2^-10, 100 = 1.5625 * 2^6, to 10, 7, 3 and 2 bits after the point.
  check(DType::kF16, {1, -1229.0F / 4096, 1049.0F / 1048576, 100});
  check(DType::kBF16, {1, -154.0F / 512, 131.0F / 131072, 100});
  check(DType::kF8E4M3, {1, -10.0F / 32, 1.0F / 512, 96});
  check(DType::kF8E5M2, {1, -5.0F / 16, 1.0F / 1024, 96});
  check(DType::kF32, floats);
  check(DType::kF64, floats);
  Memory ints(DType::kI32, 4);
  check_refused(ints.view.round_from(floats), "buffer 'mel' has elements of i32, not of a float type");
  check_refused(ints.read().to_floats().status(), "buffer 'mel' has elements of i32, not of a float type");
}

// Float16 by Clang's and GCC's own conversion, for all bits and at every tie between two of them.
TEST_CASE("Float16 is IEEE binary16") {
#ifdef __FLT16_MANT_DIG__
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto ours = Float16::from_bits(static_cast<std::uint16_t>(bits));
    const auto judge = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    const auto value = static_cast<double>(judge);
    if (std::isnan(value) ? !std::isnan(static_cast<double>(ours)) : static_cast<double>(ours) != value) FAIL(bits);
    if (std::isnan(value) || std::isinf(value)) continue;
    const double next = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits + 1)));
    for (const double at : {value, (value + next) / 2, std::nextafter((value + next) / 2, value),
                            std::nextafter((value + next) / 2, next)}) {
      if (std::isinf(next)) continue;
      if (Float16(at).bits() != std::bit_cast<std::uint16_t>(static_cast<_Float16>(at))) FAIL(bits << " at " << at);
    }
  }
  CHECK(Float16(65519.99).bits() == 0x7bff);
  CHECK(Float16(65520).bits() == 0x7c00);
#else
  SKIP_CASE("this compiler has no _Float16 to compare with");
#endif
}

// bfloat16 is the upper half of a float: the judge rounds a float's bits by hand.
TEST_CASE("BFloat16 is the nearest upper half of a float") {
  std::uint64_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<std::uint32_t>(random >> 32);
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    const std::uint32_t want = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if (BFloat16(value).bits() != want) FAIL(value);
    if (static_cast<float>(BFloat16::from_bits(static_cast<std::uint16_t>(want))) != std::bit_cast<float>(want << 16)) {
      FAIL(value);
    }
  }
  CHECK(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("small floats are constants of the compiler, and compare as numbers") {
  static_assert(Float16(1).bits() == 0x3c00 && static_cast<float>(Float16(0.1)) < 0.1);
  static_assert(Float16(0.0) == Float16(-0.0));
  CHECK_FALSE(Float16(NAN) == Float16(NAN));
  for (int pattern = 0; pattern < 256; ++pattern) {
    const auto bits = static_cast<std::uint8_t>(pattern);
    const double e4m3 = test::kE4M3.value(bits), e5m2 = test::kE5M2.value(bits);
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    CHECK(same(static_cast<double>(Float8E4M3::from_bits(bits)), e4m3));
    CHECK(same(static_cast<double>(Float8E5M2::from_bits(bits)), e5m2));
  }
}
