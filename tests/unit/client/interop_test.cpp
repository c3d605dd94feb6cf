// Arrays from and to other libraries: safetensors files and DLPack.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "client/trace/encoded_graph.h"
#include "client/trace/node.h"
#include "hearth/dlpack.h"
#include "hearth/safetensors.h"

using namespace hearth;
using namespace hearth::client;
using Catch::Matchers::Contains;

namespace {

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

absl::StatusOr<Safetensors> parse(const std::string& content) { return Safetensors::parse(content, "m.st", nullptr); }

void check_refused(const std::string& content, const std::string& text) {
  const auto file = parse(content);
  INFO(content);
  REQUIRE(!file.ok());
  CHECK_THAT(std::string(file.status().message()), Contains("m.st: ") && Contains(text));
}

const std::string kTwoFloats(8, '\0');

struct Foreign {
  DLManagedTensor managed = {};
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
  int deleted = 0;
  Foreign() {
    managed.dl_tensor = {data.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

}  // namespace

TEST_CASE("safetensors: arrays by name, metadata, parameters without a copy") {
  const float values[] = {1.5F, -2, 7};
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[8,12]},"none":{"dtype":"I64","shape":[0,3],"data_offsets":[12,12]}})";
  const std::string content = file_of(header, std::string(reinterpret_cast<const char*>(values), 12));
  const auto file = parse(content);
  INFO(file.status().message());
  REQUIRE(file.ok());
  CHECK(file->metadata().at("format") == "pt");
  CHECK(file->tensors().size() == 3);
  const auto b = file->find("b");
  REQUIRE(b.ok());
  CHECK(b->shape == std::vector<std::int64_t>{2});
  CHECK(std::memcmp(b->data, values, 8) == 0);
  CHECK(b->data == content.data() + 8 + header.size());
  const Tensor a = file->parameter("a");
  CHECK(a.node()->parameter.data == content.data() + 8 + header.size() + 8);
  CHECK(a.rank() == 0);
  CHECK_THROWS_WITH(file->parameter("bb"), Contains("m.st: there is no tensor 'bb'") && Contains("'none'"));
}

TEST_CASE("safetensors: a mapped file lives as long as its parameters") {
  const auto path = std::filesystem::temp_directory_path() / ("hearth_st_" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << file_of(R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "abc");
  Tensor w;
  {
    const auto file = Safetensors::open(path.string());
    INFO(file.status().message());
    REQUIRE(file.ok());
    w = file->parameter("w");
  }
  std::filesystem::remove(path);
  CHECK(std::memcmp(w.node()->parameter.data, "abc", 3) == 0);
  CHECK(absl::IsNotFound(Safetensors::open(path.string()).status()));
  CHECK_FALSE(Safetensors::open(std::filesystem::temp_directory_path().string()).ok());
  std::ofstream(path, std::ios::binary).flush();
  CHECK_THAT(std::string(Safetensors::open(path.string()).status().message()), Contains("is empty"));
  std::filesystem::remove(path);
}

TEST_CASE("safetensors: every wrong header is refused by what is wrong") {
  check_refused("abc", "shorter than 8 bytes");
  check_refused(std::string(8, '\xff'), "header's length");
  check_refused(file_of("{}", "").substr(0, 9), "header's length");
  check_refused(file_of("[]", ""), "no JSON object");
  check_refused(file_of("{\"a\":", ""), "no JSON object");
  check_refused(file_of(std::string(100000, '['), ""), "no JSON object");
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return file_of(R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                   kTwoFloats);
  };
  REQUIRE(parse(entry("\"F32\"", "[2]", "[0,8]")).ok());
  check_refused(entry("\"F4\"", "[2]", "[0,8]"), "tensor 'w': dtype 'F4' is not supported");
  check_refused(entry("7", "[2]", "[0,8]"), "'dtype'");
  check_refused(entry("\"F32\"", "[-2]", "[0,8]"), "'shape'");
  check_refused(entry("\"F32\"", "[2.5]", "[0,8]"), "'shape'");
  check_refused(entry("\"F32\"", "2", "[0,8]"), "'shape' is no list");
  check_refused(entry("\"F32\"", "[3]", "[0,8]"), "has 8 bytes; f32 [3] needs 12");
  check_refused(entry("\"F32\"", "[4611686018427387904,4611686018427387904]", "[0,8]"), "is no shape");
  check_refused(entry("\"F32\"", "[2]", "[0,16]"), "outside the 8 bytes");
  check_refused(entry("\"F32\"", "[2]", "[8,0]"), "outside");
  check_refused(entry("\"F32\"", "[2]", "[0]"), "outside");
  check_refused(entry("\"F32\"", "[1]", "[0,4]"), "4 bytes at the end belong to no tensor");
  check_refused(entry("\"F32\"", "[1]", "[4,8]"), "begins at byte 4 of the data; expected 0");
  check_refused(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],)"
                        R"("data_offsets":[4,8]}})",
                        kTwoFloats),
                "'b' begins at byte 4 of the data; expected 8");
  check_refused(file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],)"
                        R"("data_offsets":[0,8]}})",
                        kTwoFloats),
                "'a' is given twice");
  check_refused(file_of(R"({"a":3})", ""), "tensor 'a': is no object");
  check_refused(file_of(R"({"__metadata__":{"a":3}})", ""), "metadata 'a' is no text");
}

TEST_CASE("safetensors: no damaged byte of a header crashes") {
  const std::string good = file_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", kTwoFloats);
  int accepted = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char change : {'\x01', '\x20', '\x80'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      accepted += parse(bad).ok() ? 1 : 0;
    }
    CHECK(!parse(good.substr(0, at)).ok());
  }
  CHECK(accepted >= 3 * 8);  // the data's own bytes, and names
}

TEST_CASE("DLPack: a foreign tensor is taken over without a copy and given back once") {
  Foreign foreign;
  {
    auto imported = from_dlpack(&foreign.managed);
    INFO(imported.status().message());
    REQUIRE(imported.ok());
    CHECK(imported->view.data == foreign.data.data());
    CHECK(imported->view.shape == foreign.shape);
    CHECK(imported->view.dtype == DType::kF32);
    const Tensor w = parameter("w", {2, 3}, DType::kF32, {imported->view.data, 24, imported->owner});
    imported->owner.reset();
    CHECK(foreign.deleted == 0);
  }
  CHECK(foreign.deleted == 1);
  foreign.managed.dl_tensor.byte_offset = 12;
  foreign.managed.dl_tensor.ndim = 1;
  foreign.managed.dl_tensor.strides = nullptr;
  CHECK(from_dlpack(&foreign.managed)->view.data == foreign.data.data() + 3);
}

TEST_CASE("DLPack: what is not dense CPU memory is refused and stays the caller's") {
  Foreign foreign;
  const auto refused = [&](const std::string& text, auto&& change) {
    Foreign bad;
    change(bad.managed.dl_tensor, bad);
    const auto imported = from_dlpack(&bad.managed);
    REQUIRE(!imported.ok());
    CHECK_THAT(std::string(imported.status().message()), Contains(text));
    CHECK(bad.deleted == 0);
  };
  refused("device type 2", [](DLTensor& t, Foreign&) { t.device.device_type = kDLCUDA; });
  refused("type code 5", [](DLTensor& t, Foreign&) { t.dtype = {kDLComplex, 64, 1}; });
  refused("4 lanes", [](DLTensor& t, Foreign&) { t.dtype.lanes = 4; });
  refused("stride 2 along axis 1", [](DLTensor&, Foreign& f) { f.strides = {1, 2}; });
  refused("length -1", [](DLTensor&, Foreign& f) { f.shape[0] = -1; });
  refused("length", [](DLTensor& t, Foreign& f) {
    f.shape = {INT64_MAX, INT64_MAX};
    t.shape = f.shape.data();
  });
  refused("-1 axes", [](DLTensor& t, Foreign&) { t.ndim = -1; });
  refused("no shape", [](DLTensor& t, Foreign&) { t.shape = nullptr; });
  refused("points to null", [](DLTensor& t, Foreign&) { t.data = nullptr; });
  CHECK(!from_dlpack(static_cast<DLManagedTensor*>(nullptr)).ok());
  CHECK(!from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)).ok());
}

TEST_CASE("DLPack: an exported array owns its memory until its deleter is called, and comes back the same") {
  auto exported = to_dlpack(array_of<std::int32_t>({1, 2, 3, 4, 5, 6}, {3, 2}));
  REQUIRE(exported.ok());
  CHECK((*exported)->dl_tensor.dtype.bits == 32);
  auto back = from_dlpack(*exported);
  REQUIRE(back.ok());
  CHECK(back->view.shape == std::vector<std::int64_t>{3, 2});
  CHECK(static_cast<const std::int32_t*>(back->view.data)[5] == 6);
  for (DType dtype : {DType::kBool, DType::kF16, DType::kBF16, DType::kU64, DType::kF64}) {
    auto one = to_dlpack(Array{dtype, {1}, std::string(dtype_bytes(dtype), '\1')});
    REQUIRE(one.ok());
    CHECK(from_dlpack(*one)->view.dtype == dtype);
  }
  CHECK(absl::IsUnimplemented(to_dlpack(Array{DType::kF8E4M3, {1}, "a"}).status()));
  CHECK(!to_dlpack(Array{DType::kF32, {2}, "abcd"}).ok());
}

TEST_CASE("DLPack 1.x: a tensor says whether it may be written to, and float8 has a name") {
  for (DType dtype : {DType::kF32, DType::kF8E4M3, DType::kF8E5M2, DType::kBF16}) {
    auto exported = to_dlpack_versioned(Array{dtype, {3}, std::string(3 * dtype_bytes(dtype), '\1')},
                                        DLPACK_FLAG_BITMASK_READ_ONLY);
    REQUIRE(exported.ok());
    CHECK((*exported)->version.major == 1);
    const auto back = from_dlpack(*exported);
    REQUIRE(back.ok());
    CHECK(back->view.dtype == dtype);
    CHECK(back->view.shape == std::vector<std::int64_t>{3});
    CHECK(back->is_read_only);
  }
  // dlpack.h's numbers, of version 1.1.
  CHECK(dlpack_type(DType::kF8E4M3).code == 10);
  CHECK(dlpack_type(DType::kF8E5M2).code == 12);
  CHECK(absl::IsUnimplemented(dtype_of_dlpack({7, 8, 1}).status()));

  auto newer = to_dlpack_versioned(array_of<float>({1}, {1}));
  REQUIRE(newer.ok());
  (*newer)->version.major = 2;
  const auto refused = from_dlpack(*newer);
  CHECK_THAT(std::string(refused.status().message()), Contains("is of DLPack version 2.1; expected 1.x"));
  (*newer)->deleter(*newer);  // it stayed the caller's
}

TEST_CASE("DLPack: memory of a GPU is taken by its address and device, never read, and given on") {
  Foreign foreign;
  DLTensor& tensor = foreign.managed.dl_tensor;
  tensor.data = reinterpret_cast<void*>(0x7f0000000000);  // nothing that this process may read
  tensor.byte_offset = 64;
  for (const DLDeviceType type : {kDLCUDA, kDLROCM}) {
    tensor.device = {type, 3};
    const absl::StatusOr<DeviceArray> array = device_array_of_dlpack(tensor);
    REQUIRE(array.ok());
    CHECK(array->view.data == reinterpret_cast<void*>(0x7f0000000040));
    CHECK(array->view.size_bytes == 24);
    CHECK(array->view.shape == std::vector<std::int64_t>{2, 3});
    CHECK(array->device.device_id == 3);
    const auto owner = std::make_shared<int>(1);
    const absl::StatusOr<DLManagedTensorVersioned*> given = device_to_dlpack(*array, owner);
    REQUIRE(given.ok());
    CHECK((*given)->dl_tensor.data == array->view.data);
    CHECK((*given)->dl_tensor.device.device_type == type);
    CHECK((*given)->dl_tensor.device.device_id == 3);
    CHECK(owner.use_count() == 2);
    (*given)->deleter(*given);
    CHECK(owner.use_count() == 1);
  }
  tensor.device = {kDLCPU, 0};
  CHECK_THAT(std::string(device_array_of_dlpack(tensor).status().message()),
             Contains("is on device type 1; expected CUDA (2) or ROCm (10)"));
  foreign.strides = {1, 2};
  tensor.device = {kDLCUDA, 0};
  CHECK_THAT(std::string(device_array_of_dlpack(tensor).status().message()), Contains("dense, row-major"));
}
