// NumPy files: what is written reads back; what is not a plain array is refused with its path.
#include "hearth/npy.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;

namespace {

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("hearth_npy_test_" + std::to_string(getpid()) + name)).string();
}

std::string make(const std::string& header, const std::string& data, char major = 1) {
  std::string out = "\x93NUMPY";
  out += major;
  out += '\0';
  out += static_cast<char>(header.size());
  out += '\0';
  if (major == 2) out += std::string(2, '\0');
  return out + header + data;
}

std::string npy_error_of(const std::string& content) {
  const auto array = parse_npy(content, "a.npy");
  return array.ok() ? "no error" : std::string(array.status().message());
}

}  // namespace

TEST_CASE("every dtype survives a round trip") {
  for (DType dtype : {DType::kBool, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kU64, DType::kF16, DType::kF32, DType::kF64}) {
    const std::string path = temporary("round.npy");
    const std::string bytes(6 * dtype_bytes(dtype), '\1');
    REQUIRE(write_npy(path, dtype, {2, 3}, bytes.data(), bytes.size()).ok());
    const auto back = read_npy(path);
    REQUIRE(back.ok());
    CHECK(back->dtype == dtype);
    CHECK(back->shape == std::vector<std::int64_t>{2, 3});
    CHECK(back->bytes == bytes);
    CHECK(std::filesystem::file_size(path) == 128 + bytes.size());
    std::filesystem::remove(path);
  }
}

TEST_CASE("scalars, vectors and empty arrays") {
  const std::string path = temporary("small.npy");
  const std::vector<std::vector<std::int64_t>> shapes = {{}, {1}, {0, 4}, {5}};
  for (const auto& shape : shapes) {
    std::size_t count = 1;
    for (auto length : shape) count *= static_cast<std::size_t>(length);
    const std::string bytes(count * 4, '\2');
    REQUIRE(write_npy(path, DType::kF32, shape, bytes.data(), bytes.size()).ok());
    const auto back = read_npy(path);
    REQUIRE(back.ok());
    CHECK(back->shape == shape);
    CHECK(back->bytes == bytes);
  }
  std::filesystem::remove(path);
}

TEST_CASE("what NumPy has no name for is widened to f32 exactly, and read back as itself") {
  const std::string path = temporary("narrow.npy");
  const std::pair<DType, std::string> one_and_half[] = {
      {DType::kBF16, {"\xc0\x3f", 2}}, {DType::kF8E4M3, "\x3c"}, {DType::kF8E5M2, "\x3e"}};
  for (const auto& [dtype, bytes] : one_and_half) {
    INFO(dtype_name(dtype));
    REQUIRE(write_npy(path, dtype, {1}, bytes.data(), bytes.size()).ok());
    const auto back = read_npy(path);
    REQUIRE(back.ok());
    float value = 0;
    std::memcpy(&value, back->bytes.data(), sizeof(value));
    CHECK(back->dtype == DType::kF32);
    CHECK(value == 1.5F);
    const auto narrow = as_dtype(*back, dtype);
    REQUIRE(narrow.has_value());
    CHECK((narrow->dtype == dtype && narrow->shape == back->shape && narrow->bytes == bytes));
    CHECK_FALSE(as_dtype(*back, DType::kF16).has_value());  // NumPy has f16: a mistake is likelier
    CHECK_FALSE(as_dtype(*narrow, DType::kF32).has_value());
  }
  std::filesystem::remove(path);
}

TEST_CASE("version 2 headers are read") {
  const auto array = parse_npy(make("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "abcd", 2), "a.npy");
  REQUIRE(array.ok());
  CHECK(array->bytes == "abcd");
}

TEST_CASE("what is not a plain array is refused with its path and the reason") {
  CHECK(npy_error_of("") == "a.npy: is not a .npy file");
  CHECK_THAT(npy_error_of("PK\x03\x04 zip"), Contains("a.npy: is not a .npy file"));
  CHECK_THAT(npy_error_of(make("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }\n", "abcd")),
             Contains("Fortran"));
  CHECK_THAT(npy_error_of(make("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", "abcd")),
             Contains("big-endian"));
  CHECK_THAT(npy_error_of(make("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "abcd")),
             Contains("'|O'"));
  CHECK_THAT(npy_error_of(make("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "abcd")),
             Contains("plain"));
  CHECK_THAT(npy_error_of(make("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "abcd")),
             Contains("4 bytes") && Contains("(2,)"));
  CHECK_THAT(
      npy_error_of(
          make("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999999, 999999999999999999), }\n", "")),
      Contains("needs"));
  CHECK_THAT(npy_error_of(make("{'descr': '<f4'", "")), Contains("plain"));
  CHECK_THAT(std::string(read_npy("no/such.npy").status().message()), Contains("no/such.npy"));
}

TEST_CASE("truncated and altered files never crash") {
  const std::string whole = make("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "abcdefgh");
  REQUIRE(parse_npy(whole, "a.npy").ok());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_FALSE(parse_npy(whole.substr(0, length), "a.npy").ok());
  }
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string altered = whole;
    altered[random() % altered.size()] = static_cast<char>(random());
    const auto array = parse_npy(altered, "a.npy");
    if (array.ok()) CHECK(array->bytes.size() == 8);
  }
}
