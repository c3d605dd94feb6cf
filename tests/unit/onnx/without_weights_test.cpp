// Large weights of a model file: used where the file is mapped, and refused by name like those that are read.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "client/onnx/model_file.h"
#include "client/trace/encoded_graph.h"
#include "tests/support/sanitizer.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLength = 300'000;  // floats: more than 1 MiB

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "hearth-lean-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~Scratch() { fs::remove_all(folder_); }
  std::string write(const std::string& bytes) const {
    const fs::path path = folder_ / "m.onnx";
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

 private:
  fs::path folder_;
};

std::string raw_ramp(float from, std::int64_t length = kLength) {
  std::vector<float> values(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = from + static_cast<float>(i % 1000);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

void set_raw(::hearth_onnx::TensorProto* tensor, const std::string& bytes, std::int64_t length = kLength) {
  tensor->clear_float_data();
  tensor->clear_dims();
  tensor->add_dims(length);
  tensor->set_data_type(::hearth_onnx::TensorProto::FLOAT);
  tensor->set_raw_data(bytes);
}

// y = x * large + small + constant, where `constant` is a Constant node's.
ModelBuilder model_of_three() {
  ModelBuilder m(17);
  m.input("x", {kLength}).floats("large", {1}, {0}).floats("small", {1}, {4});
  m.node("Constant", {}, {"constant"});
  auto* value = m.last().add_attribute();
  value->set_name("value");
  value->set_type(::hearth_onnx::AttributeProto::TENSOR);
  set_raw(value->mutable_t(), raw_ramp(7));
  set_raw(m.proto().mutable_graph()->mutable_initializer(0), raw_ramp(2));
  m.node("Mul", {"x", "large"}, {"p"}).node("Add", {"p", "small"}, {"s"}).node("Add", {"s", "constant"}, {"y"});
  m.output("y");
  return m;
}

// A field that holds a message, as it is written.
std::string field(int number, const std::string& message) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t length = message.size();
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>((length & 0x7f) | 0x80);
  return bytes + static_cast<char>(length) + message;
}

// The parameters of a model, by their first float.
std::map<float, std::string_view> parameters_of(const ImportedModel& model) {
  const auto traced = client::encode_graph(model.outputs);
  REQUIRE(traced.ok());
  std::map<float, std::string_view> found;
  for (const auto& [name, data] : traced->parameters) {
    float first = 0;
    REQUIRE(data.size >= sizeof first);
    std::memcpy(&first, data.data, sizeof first);
    found[first] = {static_cast<const char*>(data.data), data.size};
  }
  return found;
}

std::string refusal(const std::string& path) { return std::string(import_model(path).status().message()); }

std::size_t anonymous_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Anonymous:", 0) == 0) return std::stoul(line.substr(10)) << 10;
  }
  return 0;
}

}  // namespace

TEST_CASE("large weights are used where the model's file is mapped, whatever holds them; small ones are not") {
  const Scratch scratch;
  ModelBuilder m = model_of_three();
  for (std::size_t shift = 0; shift < 4; ++shift) {  // nothing in a model is aligned
    m.proto().set_producer_name(std::string(shift, 'p'));
    const auto model = import_model(scratch.write(m.proto().SerializeAsString()));
    INFO(model.status().message());
    REQUIRE(model.ok());
    const std::map<float, std::string_view> parameters = parameters_of(*model);
    CHECK(runtime::MappedFile::containing(parameters.at(2)));
    CHECK(runtime::MappedFile::containing(parameters.at(7)));
    CHECK(parameters.at(2) == raw_ramp(2));
    CHECK(parameters.at(7) == raw_ramp(7));
    if (parameters.count(4) != 0) CHECK_FALSE(runtime::MappedFile::containing(parameters.at(4)));
  }
}

TEST_CASE("importing a model takes no memory for its large weights") {
  if (test::kSanitizer) SKIP_CASE("a sanitizer has memory of its own");
  const Scratch scratch;
  constexpr std::int64_t kMany = 16 << 20;
  ModelBuilder m(17);
  m.input("x", {kMany}).floats("w", {1}, {0}).node("Mul", {"x", "w"}, {"y"}).output("y");
  std::string path;
  {
    set_raw(m.proto().mutable_graph()->mutable_initializer(0), raw_ramp(1, kMany), kMany);
    path = scratch.write(m.proto().SerializeAsString());
    m = ModelBuilder(17);
  }
  const std::size_t before = anonymous_bytes();
  const auto model = import_model(path);
  REQUIRE(model.ok());
  const std::size_t after = anonymous_bytes();
  CHECK(after < before + kMany);  // a quarter of the weights
}

TEST_CASE("a model of large weights that is cut off anywhere is refused by its name") {
  const Scratch scratch;
  const std::string whole = model_of_three().proto().SerializeAsString();
  for (const std::size_t length : {whole.size() - 1, whole.size() - raw_ramp(0).size(), whole.size() / 2,
                                   raw_ramp(0).size() + 100, (std::size_t{1} << 20) + 1}) {
    const std::string path = scratch.write(whole.substr(0, length));
    CHECK_THAT(refusal(path), Contains(path) && Contains("not an ONNX model"));
  }
}

TEST_CASE("a length that leads out of its message or its file is refused") {
  const Scratch scratch;
  std::string bytes = model_of_three().proto().SerializeAsString();
  const std::size_t at = bytes.find(raw_ramp(2));  // its length stands before it, as a varint of three bytes
  REQUIRE(at != std::string::npos);
  REQUIRE((bytes[at - 4] == '\x4a' && (bytes[at - 1] & 0x80) == 0));  // field 9, bytes
  for (const char* length : {"\xff\xff\x7f", "\xc1\x9f\x49", "\xff\xff\x03"}) {
    std::memcpy(bytes.data() + at - 3, length, 3);
    const auto model = import_model(scratch.write(bytes));
    CHECK_FALSE(model.ok());
  }
}

TEST_CASE("a large weight of another size than its shape needs is refused by name") {
  const Scratch scratch;
  ModelBuilder m = model_of_three();
  m.proto().mutable_graph()->mutable_initializer(0)->mutable_raw_data()->resize(kLength * 4 - 4);
  CHECK_THAT(refusal(scratch.write(m.proto().SerializeAsString())),
             Contains("tensor 'large' of shape [300000] needs 1200000 bytes of data but has 1199996"));
  m = model_of_three();
  auto* external = m.proto().mutable_graph()->mutable_initializer(0);
  external->set_data_location(::hearth_onnx::TensorProto::EXTERNAL);
  auto* entry = external->add_external_data();
  entry->set_key("location");
  entry->set_value("weights.bin");
  CHECK_THAT(refusal(scratch.write(m.proto().SerializeAsString())), Contains("has bytes in the model too"));
}

TEST_CASE("a message that is given in two parts is put together as protobuf does") {
  const Scratch scratch;
  ModelBuilder first = model_of_three(), rest(17);
  rest.floats("more", {1}, {5});
  const auto check = [&](const std::string& bytes) {
    const auto from_file = read_model(scratch.write(bytes));
    const auto whole = parse_model(bytes, "whole");
    REQUIRE((from_file.ok() && whole.ok()));
    const auto &a = (*from_file)->proto().graph(), &b = (*whole)->proto().graph();
    REQUIRE(a.initializer_size() == b.initializer_size());
    for (int i = 0; i < a.initializer_size(); ++i) {
      const HostTensor left = to_host_tensor(a.initializer(i), *from_file);
      const HostTensor right = to_host_tensor(b.initializer(i), *whole);
      REQUIRE(left.bytes() == right.bytes());
      CHECK(std::memcmp(left.address(), right.address(), left.bytes()) == 0);
    }
  };
  check(first.proto().SerializeAsString());
  check(first.proto().SerializeAsString() + rest.proto().SerializeAsString());  // two graphs
  // Two values of one tensor: the last counts, which is a small one.
  constexpr std::int64_t kSmall = 1000;
  ::hearth_onnx::TensorProto again;
  again.set_raw_data(raw_ramp(9, kSmall));
  ::hearth_onnx::ModelProto without = first.proto();
  without.mutable_graph()->mutable_initializer(0)->set_dims(0, kSmall);
  const std::string twice = without.graph().initializer(0).SerializeAsString() + again.SerializeAsString();
  without.mutable_graph()->clear_initializer();
  const std::string graph = without.graph().SerializeAsString() + field(5, twice);
  without.clear_graph();
  check(without.SerializeAsString() + field(7, graph));
}
