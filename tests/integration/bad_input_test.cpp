// Bad input through the command line: one line on stderr that names the thing, a non-zero exit, the daemon still up.
#include <sys/mount.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "hearth/npy.h"
#include "tests/integration/place.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using hearth::onnx::ModelBuilder;
using namespace hearth::integration;

namespace {

std::string digits() { return source_dir() / "examples" / "digits" / "digits.onnx"; }
std::string images() { return source_dir() / "examples" / "digits" / "digits_images.npy"; }
std::string labels() { return source_dir() / "examples" / "digits" / "digits_labels.npy"; }

std::string npy(const Place& place, const std::string& name, DType dtype, const std::vector<std::int64_t>& shape) {
  std::size_t bytes = dtype_bytes(dtype);
  for (const std::int64_t length : shape) bytes *= static_cast<std::size_t>(length);
  const std::string zeros(bytes, '\0');
  REQUIRE(client::write_npy(place.file(name), dtype, shape, zeros.data(), zeros.size()).ok());
  return place.file(name);
}

std::string model(const Place& place, const std::string& name, const ModelBuilder& builder) {
  ModelBuilder copy = builder;
  return place.write(name, copy.proto().SerializeAsString());
}

// Exit `code`, nothing on stdout, one line that starts with the program's name and has all of `words`.
void check_refused(const std::string& what, const Ran& ran, const std::vector<std::string>& words,
                   const std::string& program = "hearth: ", int code = 1) {
  INFO(what << ": exit " << ran.code << ", stdout '" << ran.out << "', stderr '" << ran.err << "'");
  CHECK(ran.code == code);
  CHECK(ran.out.empty());
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  CHECK((!ran.err.empty() && ran.err.back() == '\n'));
  CHECK(ran.err.rfind(program, 0) == 0);
  for (const std::string& word : words) {
    INFO("wanted: " << word);
    CHECK(ran.err.find(word) != std::string::npos);
  }
  std::cout << "  " << what << ": " << ran.err;
}

}  // namespace

TEST_CASE("bad models and arrays: one line each, and the daemon serves on") {
  Place place;
  const auto expected = place.json({"hearth", "run", digits(), "--json"});
  const std::vector<pid_t> daemon = place.daemons();
  REQUIRE(daemon.size() == 1);

  const std::string bytes = content(digits());
  ModelBuilder unsupported(17), invented(17), future(99), symbolic(17), recursive(17), wrong(17);
  unsupported.input("x", {2, 3}).node("StringNormalizer", {"x"}, {"y"}, "norm1").output("y");
  invented.input("x", {2, 3}).node("Frobnicate", {"x"}, {"y"}, "frob1").output("y");
  future.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  symbolic.symbolic_input("x", {"batch", "time"}).node("Relu", {"x"}, {"y"}).output("y");
  recursive.input("x", {2}).node("Add", {"x", "z"}, {"y"}, "a").node("Relu", {"y"}, {"z"}, "b").output("z");
  wrong.input("x", {2, 3}).input("w", {4, 5}).node("MatMul", {"x", "w"}, {"y"}, "mm1").output("y");

  struct Row {
    const char* what;
    std::vector<std::string> words;
    std::vector<std::string> named;
    int code = 1;
  };
  std::string garbage(4096, '\0');
  for (std::size_t i = 0; i < garbage.size(); ++i) garbage[i] = static_cast<char>(i * 2654435761U >> 24);
  const std::vector<Row> rows = {
      {"no such model", {"no/such.onnx"}, {"no/such.onnx"}},
      {"a URL as model",
       {"https://example.org/m.onnx"},
       {"https://example.org/m.onnx", "URLs are not loaded; download it"}},
      {"a folder as model", {place.file("")}, {place.file("")}},
      {"empty model", {place.write("empty.onnx", "")}, {"empty.onnx"}},
      {"garbage model", {place.write("garbage.onnx", garbage)}, {"garbage.onnx"}},
      {"model cut in half", {place.write("half.onnx", bytes.substr(0, bytes.size() / 2))}, {"half.onnx"}},
      {"model without its last byte", {place.write("short.onnx", bytes.substr(0, bytes.size() - 1))}, {"short.onnx"}},
      {"unsupported operator", {model(place, "u.onnx", unsupported)}, {"u.onnx", "StringNormalizer", "norm1", "17"}},
      {"unknown operator", {model(place, "i.onnx", invented)}, {"i.onnx", "Frobnicate", "frob1"}},
      {"opset of the future", {model(place, "f.onnx", future)}, {"f.onnx", "99"}},
      {"nodes in a circle", {model(place, "c.onnx", recursive)}, {"c.onnx"}},
      {"operands that do not fit", {model(place, "w.onnx", wrong)}, {"w.onnx", "mm1", "MatMul"}},
      {"--dim missing", {model(place, "s.onnx", symbolic)}, {"s.onnx", "batch", "--dim"}},
      {"--dim of another name",
       {place.file("s.onnx"), "--dim", "batch=1", "--dim", "time=2", "--dim", "depth=3"},
       {"depth"}},
      {"--dim not a number", {place.file("s.onnx"), "--dim", "batch=4x", "--dim", "time=2"}, {"batch=4x"}, 2},
      {"--dim negative", {place.file("s.onnx"), "--dim", "batch=-1", "--dim", "time=2"}, {"batch"}},
      {"a folder as array", {digits(), "--input", "image=" + place.file("")}, {place.file("")}},
      {"no such array", {digits(), "--input", "image=no/such.npy"}, {"no/such.npy"}},
      {"garbage array", {digits(), "--input", "image=" + place.write("g.npy", garbage)}, {"g.npy"}},
      {"array cut short",
       {digits(), "--input", "image=" + place.write("cut.npy", content(images()).substr(0, 5000))},
       {"cut.npy"}},
      {"array of another type",
       {digits(), "--input", "image=" + npy(place, "t.npy", DType::kF64, {400, 1, 8, 8})},
       {"image", "f32", "f64"}},
      {"array of another rank",
       {digits(), "--input", "image=" + npy(place, "r.npy", DType::kF32, {400, 64})},
       {"image", "400, 64"}},
      {"array of another shape",
       {digits(), "--input", "image=" + npy(place, "x.npy", DType::kF32, {400, 1, 9, 9})},
       {"digits.onnx"}},
      {"raw array cut short",
       {digits(), "--input", "image=" + place.write("cut.bin", "12345") + ":f32:400x1x8x8"},
       {"cut.bin", "5 bytes", "102400"}},
      {"raw array of no lengths",
       {digits(), "--input", "image=" + place.file("cut.bin") + ":f32:400x"},
       {"'400x' are no lengths"},
       2},
      {"raw array of more than there is",
       {digits(), "--input", "image=" + place.file("cut.bin") + ":f32:4000000000x4000000000x8"},
       {"are no lengths"},
       2},
      {"raw array of another type",
       {digits(), "--input", "image=" + place.write("codes.bin", std::string(12800, 'a')) + ":int4:400x1x8x8"},
       {"image", "f32", "int4"}},
      {"unknown input", {digits(), "--input", "picture=" + images()}, {"picture", "image"}},
      {"output folder below a file", {digits(), "--output-dir", digits() + "/out"}, {digits() + "/out"}},
  };
  std::cout << "bad input:\n";
  for (const Row& row : rows) {
    std::vector<std::string> words = {"hearth", "run"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    check_refused(row.what, place.run(words), row.named, "hearth: ", row.code);
  }
  check_refused("garbage WAV", place.run({"silero_vad", "--model", digits(), "--wav", place.write("g.wav", garbage)}),
                {"g.wav"}, "silero_vad: ");
  check_refused("a folder as WAV", place.run({"silero_vad", "--model", digits(), "--wav", place.file("")}),
                {place.file("")}, "silero_vad: ");
  check_refused("labels as images",
                place.run({"digits", "--model", digits(), "--images", labels(), "--labels", labels()}),
                {"digits_labels.npy"}, "digits: ");

  CHECK(place.daemons() == daemon);
  const auto again = place.json({"hearth", "run", digits(), "--json"});
  CHECK(again["plan_key"] == expected["plan_key"]);
  CHECK(again["compiled_kernels"] == 0);
  CHECK(place.stats()["worker_crashes"] == 0);
  std::cout << rows.size() + 3 << " kinds of bad input refused, daemon " << daemon[0] << " still serves\n";
}

TEST_CASE("daemons that cannot start: one line that names the cause") {
  struct Row {
    const char* what;
    std::function<void(Place&)> spoil;
    std::vector<std::string> named;
  };
  const std::string deep = "/" + std::string(120, 's') + "/hearthd.sock";
  const std::vector<Row> rows = {
      {"socket path too long", [&](Place& p) { p.environment()["HEARTH_SOCKET"] = deep; }, {"ssssss", "at most 106"}},
      {"socket folder below a file",
       [](Place& p) { p.environment()["HEARTH_SOCKET"] = p.write("file", "x") + "/s.sock"; },
       {"/file"}},
      {"cache folder below a file",
       [](Place& p) { p.environment()["HEARTH_CACHE_DIR"] = p.write("file", "x") + "/cache"; },
       {"/file/cache"}},
      {"cache folder that others can write",
       [](Place& p) {
         fs::create_directory(p.cache());
         p.write("cache/something", "of unknown origin");
         fs::permissions(p.cache(), fs::perms::all);
       },
       {"cache"}},
      {"garbage TOML",
       [](Place& p) { p.environment()["HEARTH_CONFIG"] = p.write("bad.toml", "workers = = 3\n"); },
       {"bad.toml"}},
      {"unknown setting",
       [](Place& p) { p.environment()["HEARTH_CONFIG"] = p.write("odd.toml", "\nworkerz = 3\n"); },
       {"odd.toml", "workerz"}},
      {"a folder as configuration", [](Place& p) { p.environment()["HEARTH_CONFIG"] = p.file(""); }, {"configuration"}},
      {"no such configuration",
       [](Place& p) { p.environment()["HEARTH_CONFIG"] = "/no/such.toml"; },
       {"/no/such.toml"}},
      {"setting out of range", [](Place& p) { p.environment()["HEARTH_WORKERS"] = "many"; }, {"HEARTH_WORKERS"}},
      {"hearthd missing",
       [](Place& p) { p.environment()["HEARTH_DAEMON"] = "/no/such/hearthd"; },
       {"/no/such/hearthd", "HEARTH_DAEMON"}},
      {"hearthd is no program",
       [](Place& p) { p.environment()["HEARTH_DAEMON"] = p.write("hearthd", "x"); },
       {"HEARTH_DAEMON"}},
      {"worker missing", [](Place& p) { p.environment()["HEARTH_WORKER"] = "/no/such/worker"; }, {"/no/such/worker"}},
      {"not allowed to start one", [](Place& p) { p.environment()["HEARTH_NO_AUTOSTART"] = "1"; }, {"hearthd.sock"}},
  };
  std::cout << "daemons that cannot start:\n";
  for (const Row& row : rows) {
    Place place;
    row.spoil(place);
    const Ran ran = place.run({"hearth", "run", digits()});
    check_refused(row.what, ran, row.named);
    CHECK_THAT(ran.err, !Catch::Contains("in time"));  // it is seen to fail, not waited for
  }
  Place place;
  const std::string toml = place.write("bad.toml", "workers = = 3\n");
  check_refused("garbage TOML, directly", place.run({"hearthd", "--config", toml}), {"bad.toml:1"}, "hearthd: ", 2);
}

TEST_CASE("a program away from its daemon says where it looked") {
  Place place;
  fs::copy_file(bin_dir() / "hearth", place.file("hearth"));
  place.environment()["PATH"] = "/no/such/folder";
  check_refused("hearthd not beside hearth", place.run({place.file("hearth"), "run", digits()}),
                {"hearthd", "HEARTH_DAEMON"});
}

TEST_CASE("a full disk: the result comes from memory and health says so") {
  Place place;
  fs::create_directory(place.cache());
  if (::mount("hearth-it", place.cache().c_str(), "tmpfs", 0, "size=128k,mode=0700") != 0) {
    SKIP_CASE("a file system of its own may not be mounted: " + std::string(std::strerror(errno)));
  }
  struct Unmount {
    std::string path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } unmount{place.cache()};
  const Ran ran = place.run({"hearth", "run", digits(), "--json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK_THAT(place.stats()["health"].get<std::string>(), Catch::StartsWith("degraded"));
}
