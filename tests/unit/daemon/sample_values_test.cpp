// What timed kernels read, and what counts as the same result.
#include "proto/sample_values.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace hearth::daemon {
namespace {

template <class T>
std::vector<unsigned char> bytes_of(const std::vector<T>& values) {
  std::vector<unsigned char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string compare(const std::vector<float>& wanted, const std::vector<float>& got) {
  return difference(v1::F32, bytes_of(wanted), bytes_of(got));
}

}  // namespace

TEST_CASE("sample values are positive, not all alike, and the same for one seed") {
  std::vector<float> values(1000);
  std::vector<unsigned char> bytes(4000), again(4000), other(4000);
  fill_sample(v1::F32, bytes, 7);
  fill_sample(v1::F32, again, 7);
  fill_sample(v1::F32, other, 8);
  CHECK(bytes == again);
  CHECK(bytes != other);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (float x : values) {
    CHECK(x >= 1.0f / 16);
    CHECK(x < 1.0f);
  }
  std::vector<double> doubles(500);
  fill_sample(v1::F64, bytes, 7);
  std::memcpy(doubles.data(), bytes.data(), bytes.size());
  for (double x : doubles) CHECK((x >= 1.0 / 16 && x < 1.0));
  fill_sample(v1::BOOL, bytes, 7);
  for (unsigned char x : bytes) CHECK(x <= 1);
}

TEST_CASE("floats may differ as much as the order of a sum does, integers not at all") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(compare({1, 2, 3}, {1, 2, 3}).empty());
  CHECK(compare({1, 2, nan}, {1, 2, nan}).empty());
  CHECK(compare({100, 2, 3}, {100.005f, 2, 3}).empty());
  CHECK_FALSE(compare({100, 2, 3}, {100.05f, 2, 3}).empty());
  CHECK_FALSE(compare({1, 2, nan}, {1, 2, 3}).empty());
  CHECK_FALSE(compare({1, 2, 3}, {1, 2, nan}).empty());
  CHECK_FALSE(compare({1, 2, 3}, {1, 2, INFINITY}).empty());
  CHECK_FALSE(compare({1, 2, 3}, {1, 2}).empty());
  CHECK(compare({1, 1, 0}, {1, 1, 1e-5f}).empty());  // beside values of 1
  CHECK_FALSE(compare({1, 1, 0}, {1, 1, 1e-2f}).empty());
  CHECK(compare({1, 2, 4}, {1, 2, 5}).find("element 2") != std::string::npos);
  const auto ints = bytes_of<std::int32_t>({1, 2, 3}), off = bytes_of<std::int32_t>({1, 2, 4});
  CHECK(difference(v1::I32, ints, ints).empty());
  CHECK_FALSE(difference(v1::I32, ints, off).empty());
  // 1.0, 2.0, a small step and infinity as f16.
  const auto half = bytes_of<std::uint16_t>({0x3c00, 0x4000}), near = bytes_of<std::uint16_t>({0x3c01, 0x4000});
  CHECK(difference(v1::F16, half, near).empty());
  CHECK_FALSE(difference(v1::F16, half, bytes_of<std::uint16_t>({0x3c00, 0x7c00})).empty());
  CHECK_FALSE(difference(v1::F16, half, bytes_of<std::uint16_t>({0x3c80, 0x4000})).empty());
}

}  // namespace hearth::daemon
