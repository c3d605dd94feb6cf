// --trace of hearth run and hearth prewarm: what was done when, read back.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::onnx::ModelBuilder;
using nlohmann::json;

namespace {

std::string product(const Place& place, const std::string& name) {
  ModelBuilder m(17);
  m.input("x", {384, 384}).input("y", {384, 384});
  m.node("MatMul", {"x", "y"}, {"p"}).node("Relu", {"p"}, {"r"}).node("Softmax", {"r"}, {"s"}).output("s");
  return place.write(name, m.proto().SerializeAsString());
}

// `count` kernels, one after the other: x·y·y·…
std::string chain_of_products(const Place& place, const std::string& name, int count) {
  ModelBuilder m(17);
  m.input("x", {640, 640}).input("y", {640, 640});
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    std::string next = "p" + std::to_string(i);
    m.node("MatMul", {last, "y"}, {next});
    last = std::move(next);
  }
  return place.write(name, m.output(last).proto().SerializeAsString());
}

std::string read(const Place& place, const std::string& name) {
  std::ifstream file(place.file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Event {
  std::string name, category;
  double begin = 0, end = 0;
  int process = 0;
  std::int64_t thread = 0;
  bool is_within(const Event& other) const { return begin >= other.begin - 0.01 && end <= other.end + 0.01; }
};

struct Trace {
  std::vector<Event> events;
  std::map<int, std::string> processes;

  explicit Trace(const json& read) {
    for (const json& event : read["traceEvents"]) {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["ph"] != "X") continue;
      const double begin = event["ts"], took = event["dur"];
      events.push_back({event["name"], event["cat"], begin, begin + took, event["pid"], event["tid"]});
    }
  }
  std::vector<Event> of(const std::string& category) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.category == category) found.push_back(event);
    }
    return found;
  }
  Event only(const std::string& name) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.name == name) found.push_back(event);
    }
    INFO(name);
    REQUIRE(found.size() == 1);
    return found.front();
  }
};

Trace read_trace(const Place& place, const std::string& name) { return Trace(json::parse(read(place, name))); }

TEST_CASE("run --trace: client, call, queue, passes, compiles by worker and kernels by thread, each within its cause") {
  Place place;
  const std::string model = product(place, "m.onnx"), file = place.file("t.json");
  const Ran ran = place.run_ok({"hearth", "run", model, "--threads", "2", "--repeat", "3", "--trace", file});
  CHECK_THAT(ran.out, Contains("spans -> " + file));
  const Trace trace = read_trace(place, "t.json");
  const Event prepare = trace.only("prepare"), rpc = trace.only("/hearth.v1.CompilerService/Prepare"),
              call = trace.only("prepare: miss"), lower = trace.only("lower the graph");
  CHECK(rpc.is_within(prepare));
  CHECK(call.is_within(rpc));
  CHECK(lower.is_within(call));
  CHECK_THAT(trace.processes.at(rpc.process), Contains("hearth run (process "));
  CHECK_THAT(trace.processes.at(call.process), Contains("hearthd"));
  CHECK_THAT(trace.processes.at(lower.process), Contains("hearth-worker (process "));
  const std::vector<Event> compiles = trace.of("compile");
  REQUIRE(compiles.size() >= 2);  // the product and the softmax
  CHECK(trace.of("queue").size() == compiles.size() + 1);
  for (const Event& event : trace.of("queue")) CHECK(event.is_within(call));
  for (const Event& event : compiles) CHECK(event.is_within(call));
  // Each pass is of one job of its worker.
  std::set<std::string> passes;
  for (const Event& pass : trace.of("pass")) {
    passes.insert(pass.name);
    int jobs = pass.process == lower.process && pass.is_within(lower) ? 1 : 0;
    for (const Event& compile : compiles) jobs += pass.process == compile.process && pass.is_within(compile) ? 1 : 0;
    INFO(pass.name);
    CHECK(jobs == 1);
  }
  CHECK((passes.contains("rangeify") && passes.contains("codegen") && passes.contains("linearize")));

  const Event replay = trace.only("replay, kernel by kernel");
  CHECK(trace.of("replay").size() == 4);
  std::set<std::string> kernels;
  for (const Event& kernel : trace.of("kernel")) {
    kernels.insert(kernel.name);
    CHECK(kernel.is_within(replay));
  }
  for (const Event& compile : compiles) CHECK(kernels.contains(compile.name.substr(std::strlen("compile "))));

  // What is in the cache is neither queued nor compiled, and the daemon's word for it is another.
  place.run_ok({"hearth", "run", model, "--threads", "2", "--trace", file});
  const Trace again = read_trace(place, "t.json");
  CHECK(again.only("prepare: hit").is_within(again.only("/hearth.v1.CompilerService/Prepare")));
  CHECK((again.of("compile").empty() && again.of("queue").empty() && again.of("pass").empty()));

  // A thread that shares the caller's core is asked only every 64th kernel whether it has time by now, and on a busy
  // machine one may have done all before the other comes: many kernels, each of some milliseconds.
  const std::string large = chain_of_products(place, "large.onnx", 130);
  std::set<std::int64_t> threads;
  for (int i = 0; i < 20 && threads.size() < 2; ++i) {
    threads.clear();
    place.run_ok({"hearth", "run", large, "--threads", "2", "--trace", file});
    for (const Event& kernel : read_trace(place, "t.json").of("kernel")) threads.insert(kernel.thread);
  }
  CHECK(threads.size() == 2);
}

TEST_CASE("prewarm --trace: several models at once; control characters of a name are escaped") {
  Place place;
  const std::string plain = product(place, "plain.onnx"), odd = place.file("o\x1b[31m\xff\n.onnx");
  place.write("o\x1b[31m\xff\n.onnx", read(place, "plain.onnx"));
  const std::string file = place.file("t.json");
  place.run_ok({"hearth", "prewarm", "--jobs", "2", "--threads", "1,2", plain, odd, "--trace", file});
  const std::string text = read(place, "t.json");
  CHECK(std::none_of(text.begin(), text.end() - 1, [](char c) { return static_cast<unsigned char>(c) < ' '; }));
  const Trace trace(json::parse(text));
  CHECK(trace.of("rpc").size() >= 4);
  std::set<std::int64_t> threads;
  bool is_there = false;
  for (const Event& event : trace.of("client")) {
    threads.insert(event.thread);
    is_there = is_there || event.name.find("o\x1b[31m") != std::string::npos;
  }
  CHECK(threads.size() == 2);
  CHECK(is_there);
}

TEST_CASE("--trace to a folder, a full disk or nowhere is an error that names the file; to a device it is written") {
  Place place;
  const std::string model = product(place, "m.onnx");
  const auto refused = [&](const std::string& path) {
    const Ran ran = place.run({"hearth", "run", model, "--trace", path});
    CHECK(ran.code != 0);
    CHECK_THAT(ran.err, Contains("--trace ") && Contains(path));
    return ran;
  };
  CHECK(refused(place.file("")).out.empty());  // before anything is done
  CHECK(refused(place.file("none/t.json")).out.empty());
  if (::access("/dev/full", W_OK) == 0) CHECK_THAT(refused("/dev/full").err, Contains("No space left"));
  CHECK(place.run({"hearth", "run", model, "--trace", ""}).code == 2);
  place.run_ok({"hearth", "run", model, "--trace", "/dev/null"});
}

}  // namespace
