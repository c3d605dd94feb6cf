// Tensors in files beside the model: their values, and what is refused by name.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "client/onnx/model_file.h"
#include "client/trace/encoded_graph.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Entry {
  std::string location = "weights.bin";
  std::string offset = "";  // not stated
  std::string length = "";
  std::string checksum = "";
};

void set_entry(::hearth_onnx::TensorProto* tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

void make_external(::hearth_onnx::TensorProto* tensor, const Entry& entry) {
  tensor->clear_raw_data();
  tensor->clear_float_data();
  tensor->clear_int64_data();
  tensor->set_data_location(::hearth_onnx::TensorProto::EXTERNAL);
  set_entry(tensor, "location", entry.location);
  if (!entry.offset.empty()) set_entry(tensor, "offset", entry.offset);
  if (!entry.length.empty()) set_entry(tensor, "length", entry.length);
  if (!entry.checksum.empty()) set_entry(tensor, "checksum", entry.checksum);
}

// A folder with a model y = x * w, w of three floats, in it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "hearth-onnx-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::create_directory(path_ / "model");
  }
  ~Folder() { fs::remove_all(path_); }

  fs::path outside(const std::string& name) const { return path_ / name; }
  fs::path file(const std::string& name) const { return path_ / "model" / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }

  absl::StatusOr<ImportedModel> import(ModelBuilder& m) const {
    write("m.onnx", m.proto().SerializeAsString());
    return import_model(file("m.onnx").string());
  }
  absl::StatusOr<ImportedModel> import(const Entry& entry) const {
    ModelBuilder m(17);
    m.input("x", {3}).floats("w", {3}, {0, 0, 0}).node("Mul", {"x", "w"}, {"y"}).output("y");
    make_external(m.proto().mutable_graph()->mutable_initializer(0), entry);
    return import(m);
  }

 private:
  fs::path path_;
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// The parameter `name` of the model.
std::vector<float> parameter(const ImportedModel& model, const std::string& name) {
  const auto traced = client::encode_graph(model.outputs);
  REQUIRE(traced.ok());
  const client::ParameterData& data = traced->parameters.at(name);
  std::vector<float> values(data.size / sizeof(float));
  std::memcpy(values.data(), data.data, data.size);
  return values;
}

const std::vector<float> kWeights = {1.5f, -2.0f, 3.25f};

}  // namespace

TEST_CASE("weights in another file: offset and length stated or not, and after the importer's own objects are gone") {
  const Folder folder;
  folder.write("weights.bin", bytes_of(kWeights));
  folder.write("behind.bin", std::string(5, 'x') + bytes_of(kWeights) + "more");
  fs::create_directory(folder.file("parts"));
  folder.write("parts/w", bytes_of(kWeights));
  for (const Entry& entry :
       {Entry{}, Entry{.offset = "0", .length = "12"}, Entry{.location = "behind.bin", .offset = "5"},
        Entry{.location = "./parts//w"}, Entry{.checksum = "3298B85DAF80E9A6D3E9809174B8E936B6CE3410"}}) {
    CAPTURE(entry.location, entry.offset, entry.checksum);
    auto model = folder.import(entry);
    INFO(model.status().message());
    REQUIRE(model.ok());
    CHECK(parameter(*model, "w") == kWeights);
  }
}

TEST_CASE("weights in another file that is replaced stay what they were") {
  const Folder folder;
  folder.write("weights.bin", bytes_of(kWeights));
  const auto model = folder.import(Entry{});
  REQUIRE(model.ok());
  folder.write("new.bin", bytes_of({7, 7, 7}));
  fs::rename(folder.file("new.bin"), folder.file("weights.bin"));
  CHECK(parameter(*model, "w") == kWeights);
}

TEST_CASE("external data of every type, in attributes, nested graphs and what is folded while importing") {
  const Folder folder;
  std::string bytes(64, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 2);
  folder.write("weights.bin", bytes);
  for (const int type : {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 19}) {
    CAPTURE(type);
    ModelBuilder m(19);
    m.input("x", {2}, type).floats("w", {2}, {0, 0}).node("Concat", {"x", "w"}, {"y"}).attr("axis", 0).output("y");
    ::hearth_onnx::TensorProto* tensor = m.proto().mutable_graph()->mutable_initializer(0);
    tensor->set_data_type(type);
    make_external(tensor, Entry{});
    const auto model = folder.import(m);
    INFO(model.status().message());
    CHECK(model.ok());
  }
  const std::int64_t lengths[] = {3, 2};
  folder.write("shape.bin", {reinterpret_cast<const char*>(lengths), sizeof lengths});
  ModelBuilder attribute(17);
  attribute.input("x", {6}).node("Constant", {}, {"s"}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  ::hearth_onnx::AttributeProto* value = attribute.proto().mutable_graph()->mutable_node(0)->add_attribute();
  value->set_name("value");
  value->set_type(::hearth_onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(::hearth_onnx::TensorProto::INT64);
  value->mutable_t()->add_dims(2);
  make_external(value->mutable_t(), Entry{.location = "shape.bin"});
  const auto folded = folder.import(attribute);
  INFO(folded.status().message());
  REQUIRE(folded.ok());
  CHECK(folded->results[0].shape == client::Shape{3, 2});

  folder.write("weights.bin", bytes_of(kWeights));
  ModelBuilder then_branch(17), else_branch(17), outer(17);
  then_branch.floats("inner", {3}, {0, 0, 0}).node("Add", {"x", "inner"}, {"t"}).output("t");
  else_branch.node("Identity", {"x"}, {"e"}).output("e");
  make_external(then_branch.proto().mutable_graph()->mutable_initializer(0), Entry{});
  outer.input("c", {}, ::hearth_onnx::TensorProto::BOOL).input("x", {3}).node("If", {"c"}, {"y"});
  outer.attr_graph("then_branch", then_branch).attr_graph("else_branch", else_branch).output("y");
  const auto nested = folder.import(outer);
  INFO(nested.status().message());
  REQUIRE(nested.ok());
  CHECK(parameter(*nested, "inner") == kWeights);
}

TEST_CASE("external data that lies is refused, naming tensor and file") {
  const Folder folder;
  folder.write("weights.bin", bytes_of(kWeights));
  std::ofstream(folder.outside("secret"), std::ios::binary) << bytes_of(kWeights);
  fs::create_symlink("../secret", folder.file("link"));
  fs::create_symlink(folder.outside("secret"), folder.file("absolute_link"));
  fs::create_symlink("..", folder.file("up"));
  fs::create_symlink("weights.bin", folder.file("inside_link"));
  fs::create_directory(folder.file("folder"));
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  struct Row {
    Entry entry;
    std::string said;
  };
  const std::vector<Row> rows = {
      {{.location = ""}, "names no file"},
      {{.location = "../secret"}, "within the model's folder"},
      {{.location = "folder/../../secret"}, "within the model's folder"},
      {{.location = folder.outside("secret").string()}, "within the model's folder"},
      {{.location = std::string("weights.bin\0x", 13)}, "within the model's folder"},
      {{.location = "link"}, "link out of the model's folder"},
      {{.location = "absolute_link"}, "link out of the model's folder"},
      {{.location = "up/secret"}, "link out of the model's folder"},
      {{.location = "missing"}, "cannot be opened"},
      {{.location = "folder"}, "not a regular file"},
      {{.location = "fifo"}, "not a regular file"},
      {{.offset = "4"}, "bytes 4 to 16 but the file has only 12"},
      {{.offset = "18446744073709551615"}, "out of range"},
      {{.offset = "18446744073709551616"}, "no number"},
      {{.offset = "-4"}, "no number"},
      {{.offset = " 0"}, "no number"},
      {{.length = "8"}, "need 12 bytes but the length is 8"},
      {{.length = "zero"}, "no number"},
      {{.checksum = "0000000000000000000000000000000000000000"}, "SHA-1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.entry.location, row.entry.offset, row.entry.length);
    const std::string error = error_of(folder.import(row.entry));
    CHECK_THAT(error, Contains("m.onnx: ") && Contains("'w'") && Contains(row.said));
  }
  CHECK(folder.import(Entry{.location = "inside_link"}).ok());  // a link that stays within is as good as a file

  ModelBuilder m(17);
  m.input("x", {3}).floats("w", {3}, {1, 2, 3}).node("Mul", {"x", "w"}, {"y"}).output("y");
  ::hearth_onnx::TensorProto* tensor = m.proto().mutable_graph()->mutable_initializer(0);
  make_external(tensor, Entry{});
  tensor->set_raw_data(bytes_of(kWeights));
  CHECK_THAT(error_of(folder.import(m)), Contains("in the model too"));
  tensor->clear_raw_data();
  set_entry(tensor, "location", "fifo");
  CHECK_THAT(error_of(folder.import(m)), Contains("'location'") && Contains("twice"));
  tensor->mutable_external_data()->RemoveLast();
  CHECK_THAT(error_of(m.import()), Contains("'w'") && Contains("read from its file"));
}

TEST_CASE("external tensors may share their bytes, but not overlap") {
  const Folder folder;
  folder.write("weights.bin", bytes_of({1, 2, 3, 4}));
  const auto two = [&](const Entry& a, const Entry& b) {
    ModelBuilder m(17);
    m.input("x", {3}).floats("a", {3}, {0, 0, 0}).floats("b", {3}, {0, 0, 0});
    m.node("Mul", {"x", "a"}, {"p"}).node("Mul", {"p", "b"}, {"y"}).output("y");
    make_external(m.proto().mutable_graph()->mutable_initializer(0), a);
    make_external(m.proto().mutable_graph()->mutable_initializer(1), b);
    return folder.import(m);
  };
  CHECK(two({.offset = "4"}, {.offset = "4"}).ok());
  const std::string error = error_of(two({.offset = "0"}, {.location = "./weights.bin", .offset = "4"}));
  CHECK_THAT(error, Contains("tensor 'b'") && Contains("overlap those of tensor 'a'"));
}

TEST_CASE("external data beyond 4 GiB in a sparse file, and a model that has more than 2 GiB of it") {
  const Folder folder;
  constexpr std::int64_t kOffset = (std::int64_t{5} << 30) + 8;
  const int fd = ::open(folder.file("weights.bin").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::pwrite(fd, kWeights.data(), 12, kOffset) == 12);
  ::close(fd);
  const auto model = folder.import(Entry{.offset = std::to_string(kOffset)});
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(parameter(*model, "w") == kWeights);

  constexpr std::int64_t kRows = std::int64_t{3} << 20;  // of 256 floats: 3 GiB
  ModelBuilder m(17);
  m.input("i", {2}, ::hearth_onnx::TensorProto::INT64)
      .floats("w", {1}, {0})
      .node("Gather", {"w", "i"}, {"y"})
      .output("y");
  ::hearth_onnx::TensorProto* table = m.proto().mutable_graph()->mutable_initializer(0);
  table->clear_dims();
  table->add_dims(kRows);
  table->add_dims(256);
  make_external(table, Entry{});
  const auto large = folder.import(m);
  INFO(large.status().message());
  REQUIRE(large.ok());
  const auto traced = client::encode_graph(large->outputs);
  REQUIRE(traced.ok());
  CHECK(traced->parameters.at("w").size == std::size_t{3} << 30);
}

TEST_CASE("a data file that shrinks while a model is imported is an error, not a signal") {
  const Folder folder;
  std::string bytes(1 << 20, '\1');
  folder.write("weights.bin", bytes);
  const auto file = runtime::MappedFile::open(folder.file("weights.bin").string());
  REQUIRE(file.ok());
  std::string copy(bytes.size(), '\0');
  REQUIRE(runtime::copy_mapped((*file)->bytes().data(), copy.size(), copy.data()).ok());
  CHECK(copy == bytes);
  fs::resize_file(folder.file("weights.bin"), 8192);
  const absl::Status gone = runtime::copy_mapped((*file)->bytes().data(), copy.size(), copy.data());
  CHECK(absl::IsDataLoss(gone));
  CHECK(runtime::copy_mapped((*file)->bytes().data(), 8192, copy.data()).ok());

  const std::int64_t lengths[] = {3, 2};
  folder.write("shape.bin", std::string(8192, '\0') + std::string(reinterpret_cast<const char*>(lengths), 16));
  ModelBuilder m(17);
  m.input("x", {6}).ints("s", {2}, {0, 0}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  make_external(m.proto().mutable_graph()->mutable_initializer(0), Entry{.location = "shape.bin", .offset = "8192"});
  folder.write("m.onnx", m.proto().SerializeAsString());
  const auto model = read_model(folder.file("m.onnx").string());
  REQUIRE(model.ok());
  REQUIRE(import_model(*model).ok());  // now the file is mapped
  fs::resize_file(folder.file("shape.bin"), 0);
  CHECK_THAT(error_of(import_model(*model)), Contains("became shorter"));
}
