// What a user asks about a model on the command line: inspect, onnx check, prewarm, and what the environment says.
#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/integration/place.h"
#include "tests/support/model_files.h"
#include "tests/support/skip.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::onnx::ModelBuilder;

namespace {

std::string save(const Place& place, const std::string& name, ModelBuilder& m) {
  return place.write(name, m.proto().SerializeAsString());
}

// y = relu(x), x of the given dimensions.
std::string relu(const Place& place, const std::string& name, const std::vector<std::string>& dims) {
  ModelBuilder m(17);
  m.symbolic_input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
  return save(place, name, m);
}

std::string fixed(const Place& place, const std::string& name) {
  ModelBuilder m(17);
  m.input("x", {3}).node("Exp", {"x"}, {"y"}).output("y");
  return save(place, name, m);
}

// A line as a user would paste it: through a shell, with hearth in the PATH.
Ran paste(Place& place, const std::string& line) {
  return place.run({"/bin/sh", "-c", "PATH='" + bin_dir().string() + "':$PATH; " + line});
}

std::string suggested(const std::string& text) {
  const std::string mark = "run it: ";
  const std::size_t begin = text.find(mark);
  if (begin == std::string::npos) return "";
  return text.substr(begin + mark.size(), text.find('\n', begin) - begin - mark.size());
}

}  // namespace

TEST_CASE("inspect: the command that it suggests runs, whatever the model's file and dimensions are called") {
  Place place;
  ModelBuilder convolution(17);  // needs at least the kernel's length, and channels as given
  convolution.symbolic_input("sound", {"batch size", "", "time"}).floats("w", {4, 2, 9}, std::vector<float>(72, 0.5f));
  convolution.node("Conv", {"sound", "w"}, {"y"}).output("y");
  std::vector<std::string> models = {relu(place, "it's a \"model\" $HOME.onnx", {"batch", "it's"}),
                                     relu(place, "-starts-with-a-dash.onnx", {""}), fixed(place, "fixed.onnx"),
                                     save(place, "convolution.onnx", convolution),
                                     (source_dir() / "examples/digits/digits.onnx").string()};
  models[1] = "-starts-with-a-dash.onnx";
  for (const char* name : {"silero_vad_16k_op15.onnx", "silero_vad.onnx"}) {
    const fs::path path = hearth::test::model_file(name);
    if (!path.empty()) models.push_back(path.string());
  }
  for (const auto& entry : fs::directory_iterator(hearth::test::made_models() / "bench"))
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
  for (const std::string& model : models) {
    CAPTURE(model);
    const Ran inspected = place.run({"hearth", "inspect", "--", model});
    INFO(inspected.out << inspected.err);
    REQUIRE(inspected.code == 0);
    const std::string line = suggested(inspected.out);
    REQUIRE(line.rfind("hearth run ", 0) == 0);
    const Ran ran = paste(place, line);
    INFO(line << ": " << ran.err);
    CHECK(ran.code == 0);
    CHECK(place.json({"hearth", "inspect", "--json", "--", model})["command"] == line);
  }
}

TEST_CASE("inspect: inputs, outputs, dimensions, parameters and operators of a model, without a daemon") {
  Place place;
  ModelBuilder m(17);
  m.symbolic_input("x", {"batch", "time"}).input("w", {3}).floats("w", {3}, {1, 2, 3}).ints("i", {2}, {4, 5});
  m.node("Relu", {"x"}, {"a"})
      .node("Relu", {"a"}, {"y"})
      .node("StringNormalizer", {"a"}, {"z"})
      .output("y")
      .output("z");
  const std::string path = save(place, "m.onnx", m);
  const auto json = place.json({"hearth", "inspect", path, "--json"});
  CHECK(json["format"] == "onnx");
  CHECK(json["opsets"][""] == 17);
  CHECK(json["inputs"][0]["shape"] == nlohmann::json({"batch", "time"}));
  CHECK((json["inputs"][0]["type"] == "f32" && json["inputs"][0]["has_default"] == false));
  CHECK(json["inputs"][1]["has_default"] == true);
  CHECK(json["needed_dims"].size() == 2);
  CHECK(json["parameters"].size() == 2);
  CHECK(json["operators"][0]["nodes"] == 2);
  CHECK(json["operators"][1]["supported"] == false);
  CHECK_THAT(json["cannot_run"].get<std::string>(), Contains("StringNormalizer"));
  CHECK(json["command"].is_null());
  CHECK_THAT(place.run_ok({"hearth", "inspect", path}).out,
             Contains("cannot be run: ") && Contains("[batch, time]") && !Contains("run it: "));
  CHECK(place.daemons().empty());
  const Ran damaged = place.run({"hearth", "inspect", place.write("no.onnx", "no model")});
  CHECK(damaged.code == 1);
  CHECK_THAT(damaged.err, Contains("no.onnx is not an ONNX model"));
}

TEST_CASE("onnx check: a supported model with symbolic dimensions is supported; what is needed is said") {
  Place place;
  const std::string any = relu(place, "any.onnx", {"batch", "time"});
  const Ran checked = place.run({"hearth", "onnx", "check", any});
  INFO(checked.out << checked.err);
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Contains("all supported") && Contains("needs --dim batch=N, or --dim batch=MIN:MAX") &&
                              Contains("needs --dim time=N, or"));
  ModelBuilder one(17);
  one.symbolic_input("x", {"n"}).ints("s", {2}, {4, 16}).node("Reshape", {"x", "s"}, {"y"}).output("y");
  const auto json = place.json({"hearth", "onnx", "check", save(place, "one.onnx", one), "--json"});
  REQUIRE(json["needed_dims"].size() == 1);
  CHECK((json["needed_dims"][0]["may_be_range"] == false && json["needed_dims"][0]["checked_with"] == 64));
  CHECK(place.json({"hearth", "onnx", "check", any, "--dim", "batch=2", "--dim", "time=1:4", "--json"})["needed_dims"]
            .empty());
  const Ran unknown = place.run({"hearth", "onnx", "check", any, "--dim", "bach=2"});
  CHECK(unknown.code == 1);
  CHECK_THAT(unknown.out, Contains("no such dimension"));
}

TEST_CASE("onnx check: a value that decides what is computed is named, with the lengths that hold for each") {
  const fs::path model = hearth::test::model_file("silero_vad.onnx");
  if (model.empty()) SKIP_CASE(hearth::test::no_model("silero_vad.onnx"));
  Place place;
  const auto json = place.json({"hearth", "onnx", "check", model, "--json"});
  CHECK(json["needed_constants"] ==
        nlohmann::json::parse(R"([{"name": "sr", "value": "16000", "compared_with": ["16000"]}])"));
  const auto lengths = [](const nlohmann::json& dims) {
    for (const auto& dim : dims)
      if (dim["name"] == "input.1") return dim;
    return nlohmann::json();
  };
  const auto at_16k = lengths(json["needed_dims"]);
  CHECK((at_16k["hold"].dump().find("576") != std::string::npos &&
         at_16k["fail"].dump().find("128") != std::string::npos));
  REQUIRE(json["with_other_values"].size() == 1);
  CHECK(lengths(json["with_other_values"][0]["needed_dims"])["hold"].dump().find("288") != std::string::npos);
  CHECK_THAT(place.run_ok({"hearth", "onnx", "check", model}).out, Contains("needs --const sr=VALUE"));
  CHECK_THAT(place.run_ok({"hearth", "inspect", model}).out, Contains("in Constant nodes, ") && Contains("MiB"));
}

TEST_CASE("run: an array that decides what is computed is prepared for, and another value is another plan") {
  const fs::path model = hearth::test::model_file("silero_vad.onnx");
  if (model.empty()) SKIP_CASE(hearth::test::no_model("silero_vad.onnx"));
  Place place;
  const auto scalar = [&](const std::string& name, std::int64_t value) {
    const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }";
    std::string text("\x93NUMPY\x01\x00", 8);
    const std::size_t length = 128 - 10;
    text +=
        std::string(1, static_cast<char>(length)) + '\0' + header + std::string(length - header.size() - 1, ' ') + '\n';
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return place.write(name, text);
  };
  const std::string wide = scalar("sr16.npy", 16000), narrow = scalar("sr8.npy", 8000);
  const std::vector<std::string> dims = {"--dim", "input.0=1", "--dim", "state.1=1", "--dim"};
  const auto run = [&](const std::string& file, const std::string& length, const std::string& array) {
    std::vector<std::string> words = {"hearth", "run", file};
    words.insert(words.end(), dims.begin(), dims.end());
    words.insert(words.end(), {"input.1=" + length, "--input", "sr=" + array});
    return place.run(words);
  };
  for (const auto& [length, array] :
       {std::pair<std::string, std::string>{"576", wide}, {"288", narrow}, {"576", wide}}) {
    const Ran ran = run(model, length, array);
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK_THAT(ran.err, Contains("input 'sr' decides what the model computes"));
  }
  CHECK(place.stats()["plan_misses"] == 2);  // both are kept
  CHECK(run(model, "128", wide).code == 1);
  const std::string plan = place.file("vad.hearth");
  place.run_ok({"hearth", "export", model, "--dim", "input.0=1", "--dim", "state.1=1", "--dim", "input.1=576",
                "--const", "sr=16000", "-o", plan});
  CHECK(place.run({"hearth", "run", plan, "--input", "sr=" + wide}).code == 0);
  const Ran other = place.run({"hearth", "run", plan, "--input", "sr=" + narrow});
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Contains("input 'sr' is 8000; the plan was prepared for 16000") && Contains("prepare again"));
  for (const char* wrong : {"sr=fast", "sr=[1,", "sr="}) {
    CAPTURE(wrong);
    CHECK(place.run({"hearth", "run", model, "--const", wrong}).code == 2);
  }
}

TEST_CASE("run: dimensions without a length are named all at once, and inputs that become random are named") {
  Place place;
  const std::string model = relu(place, "m.onnx", {"batch", "time"});
  const Ran missing = place.run({"hearth", "run", model});
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Contains("'batch'") && Contains("'time'") && Contains("--dim batch=N --dim time=N"));
  std::vector<std::string> words = {"hearth", "run", model, "--dim", "batch=2", "--dim", "time=3", "--seed", "7"};
  CHECK_THAT(place.run_ok(words).err, Contains("random values (seed 7) for input 'x'"));
  words.push_back("--json");
  const Ran random = place.run_ok(words);
  CHECK(random.err.empty());  // the JSON says it
  CHECK(nlohmann::json::parse(random.out)["random_inputs"] == nlohmann::json({"x"}));
  const std::string images = (source_dir() / "examples/digits/digits_images.npy").string();
  const Ran given = place.run_ok(
      {"hearth", "run", (source_dir() / "examples/digits/digits.onnx").string(), "--input", "image=" + images});
  CHECK(given.err.empty());
}

TEST_CASE("prewarm: --dim goes to the models that have it, and what no model has is an error") {
  Place place;
  const std::string both = relu(place, "both.onnx", {"batch", "time"}), batch = relu(place, "batch.onnx", {"batch"}),
                    none = fixed(place, "none.onnx");
  // Flags in front of the models must not swallow them.
  const auto json =
      place.json({"hearth", "prewarm", "--dim", "batch=2", "--dim", "time=1:8", both, batch, none, "--json"});
  INFO(json.dump(2));
  CHECK(json["failures"] == 0);
  REQUIRE(json["models"].size() == 3);
  for (const auto& model : json["models"]) CHECK(model["compiled_kernels"] == 1);
  CHECK(place.json({"hearth", "run", batch, "--dim", "batch=2", "--json"})["plan_hit"] == true);

  const Ran unknown =
      place.run({"hearth", "prewarm", both, batch, "--dim", "batch=2", "--dim", "time=2", "--dim", "depth=3"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("--dim depth") && Contains("batch, time"));
  const Ran twice = place.run({"hearth", "prewarm", batch, "--dim", "batch=2", "--dim", "batch=3"});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Contains("batch=2 and batch=3 both give 'batch'"));
}

TEST_CASE("prewarm: for every number of threads that clients use; who names none is told that there is one") {
  Place place;
  const std::string model = fixed(place, "m.onnx");
  const Ran ran = place.run_ok({"hearth", "prewarm", "--threads", "1,3", "--threads", "2", model, "--json"});
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json["models"].size() == 3);
  CHECK((json["models"][0]["threads"] == 1 && json["models"][1]["threads"] == 3 && json["models"][2]["threads"] == 2));
  CHECK(ran.err.empty());
  CHECK_THAT(place.run_ok({"hearth", "prewarm", model}).err,
             Contains("another number of threads") && Contains("--threads"));
  CHECK(place.run_ok({"hearth", "prewarm", model, "--threads", "2"}).err.empty());
  for (const char* threads : {"1", "2", "3"}) {
    CHECK(place.json({"hearth", "run", model, "--threads", threads, "--json"})["plan_hit"] == true);
  }
  place.environment()["HEARTH_THREADS"] = "3";
  CHECK(place.json({"hearth", "run", model, "--json"})["plan_hit"] == true);
  CHECK(place.run_ok({"hearth", "prewarm", model}).err.empty());
  CHECK(place.json({"hearth", "run", model, "--threads", "4", "--json"})["plan_hit"] == false);
}

TEST_CASE("prewarm: goes on after a failure and lists failures at the end") {
  Place place;
  const std::string good = fixed(place, "good.onnx");
  const Ran ran = place.run({"hearth", "prewarm", place.file("missing.onnx"), good, place.write("bad.onnx", "bad")});
  CHECK(ran.code == 1);
  CHECK_THAT(ran.out, Contains("good.onnx: 1 kernel for"));
  CHECK_THAT(ran.err, Contains("2 of 3 models failed:\n") && Contains("missing.onnx") && Contains("bad.onnx"));
  // A dimension may be that of the model that could not be read.
  CHECK(place.run({"hearth", "prewarm", place.file("missing.onnx"), good, "--dim", "batch=1"}).code == 1);
}

TEST_CASE("cache ls names models by folder and file; cache rm removes one of them, and only it") {
  Place place;
  std::filesystem::create_directories(place.file("a"));
  std::filesystem::create_directories(place.file("b"));
  ModelBuilder m(17);
  m.input("x", {5}).node("Sin", {"x"}, {"y"}).output("y");
  const std::string a = fixed(place, "a/model.onnx"), b = save(place, "b/model.onnx", m);
  place.run_ok({"hearth", "prewarm", a, b});
  const auto entries = place.json({"hearth", "cache", "ls", "--json"})["entries"];
  std::multiset<std::string> models;
  for (const auto& entry : entries) {
    if (entry["kind"] == "plan" || entry["kind"] == "kernel") models.insert(entry["model"]);
  }
  CHECK(models == std::multiset<std::string>{"a/model.onnx", "a/model.onnx", "b/model.onnx", "b/model.onnx"});
  CHECK_THAT(place.run_ok({"hearth", "cache", "ls"}).out, Contains("a/model.onnx") && Contains("entries, "));
  CHECK(place.json({"hearth", "cache", "ls", "--model", "a/model.onnx", "--json"})["entries"].size() == 2);
  CHECK_THAT(place.run_ok({"hearth", "cache", "rm", "--model", "a/model.onnx"}).out, Contains("2 entries removed"));
  CHECK(place.json({"hearth", "run", b, "--json"})["plan_hit"] == true);
  CHECK(place.json({"hearth", "run", a, "--json"})["compiled_kernels"] == 1);
  const Ran gone = place.run({"hearth", "cache", "rm", "--model", "c"});
  CHECK(gone.code == 1);
  CHECK_THAT(gone.err, Contains("model called 'c'") && Contains("hearth cache ls"));
  CHECK(place.run({"hearth", "cache", "rm"}).code == 2);
  CHECK(place.run({"hearth", "cache", "rm", "--model", ""}).code == 2);
}

TEST_CASE("environment: unknown values are errors that name the variable and what is allowed; flags win") {
  Place place;
  const std::string model = fixed(place, "m.onnx");
  const std::vector<std::vector<std::string>> wrong = {{"HEARTH_DEVICE", "gpu", "cpu"},
                                                       {"HEARTH_OPT_LEVEL", "9", "0 to 2"},
                                                       {"HEARTH_THREADS", "many", "0 to 4096"},
                                                       {"HEARTH_FAST_MATH", "yes", "0 to 1"},
                                                       {"HEARTH_DIRECT_CONVOLUTIONS", "no", "0 to 1"},
                                                       {"HEARTH_PREPARE_TIMEOUT_MS", "soon", "from 1"},
                                                       {"HEARTH_NO_AUTOSTART", "please", "0 or 1"}};
  for (const auto& row : wrong) {
    CAPTURE(row[0]);
    place.environment()[row[0]] = row[1];
    for (const char* command : {"run", "explain", "tune", "prewarm"}) {
      const Ran ran = place.run({"hearth", command, model});
      CHECK(ran.code == 1);
      CHECK_THAT(ran.err, Contains(row[0]) && Contains("'" + row[1] + "'") && Contains(row[2]));
    }
    place.environment().erase(row[0]);
  }
  const auto key = [&](std::vector<std::string> flags) {
    std::vector<std::string> words = {"hearth", "run", model, "--json"};
    words.insert(words.end(), flags.begin(), flags.end());
    return place.json(words);
  };
  const auto usual = key({});
  for (const auto& [variable, value, flag] :
       std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>{
           {"HEARTH_DEVICE", "null", {"--device", "null"}},
           {"HEARTH_OPT_LEVEL", "0", {"--opt-level", "0"}},
           {"HEARTH_FAST_MATH", "1", {"--fast-math"}},
           {"HEARTH_DIRECT_CONVOLUTIONS", "1", {"--direct-convolutions"}},
           {"HEARTH_THREADS", "7", {"--threads", "7"}}}) {
    CAPTURE(variable);
    place.environment()[variable] = value;
    const auto by_variable = key({});
    const std::vector<std::string> back = {
        "--device", "cpu", "--opt-level", "2", "--no-fast-math", "--no-direct-convolutions", "--threads", "0"};
    CHECK(key(back)["plan_key"] == usual["plan_key"]);
    place.environment().erase(variable);
    CHECK(by_variable["plan_key"] != usual["plan_key"]);
    CHECK(by_variable["plan_key"] == key(flag)["plan_key"]);
  }
}

TEST_CASE("environment: a cache folder other than the running daemon's is a warning that names both") {
  Place place;
  const std::string model = fixed(place, "m.onnx");
  CHECK(place.run_ok({"hearth", "daemon", "start"}).err.empty());
  place.environment()["HEARTH_CACHE_DIR"] = place.cache() + "/../cache/";
  CHECK_THAT(place.run_ok({"hearth", "run", model}).err, !Contains("HEARTH_CACHE_DIR"));  // the same one
  place.environment()["HEARTH_CACHE_DIR"] = place.file("another");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", model}, {"prewarm", model}, {"cache", "ls"}, {"stats"}, {"explain", model}}) {
    CAPTURE(words[0]);
    std::vector<std::string> all = {"hearth"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran ran = place.run_ok(all);
    CHECK_THAT(ran.err, Contains("HEARTH_CACHE_DIR is " + place.file("another")) && Contains(place.cache()));
  }
}

TEST_CASE("environment: daemon settings that a running daemon does not have are each a warning with both values") {
  Place place;
  const std::string model = fixed(place, "m.onnx");
  place.environment()["HEARTH_WORKERS"] = "2";
  CHECK(place.run_ok({"hearth", "daemon", "start"}).err.empty());
  CHECK(place.run_ok({"hearth", "run", "-q", model}).err.empty());  // what it was started with
  place.environment()["HEARTH_WORKERS"] = "4";
  place.environment()["HEARTH_METRICS"] = "127.0.0.1:9464";
  place.environment()["HEARTH_CACHE_LIMIT"] = "1GiB";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"hearth", "run", model}, {"hearth", "stats"}, {"hearth", "daemon", "start"}}) {
    const Ran ran = place.run_ok(words);
    CHECK_THAT(ran.err, Contains("HEARTH_WORKERS is 4, but the daemon") && Contains("uses 2 (environment)"));
    CHECK_THAT(ran.err, Contains("HEARTH_METRICS is 127.0.0.1:9464") && Contains("uses none (default)"));
    CHECK_THAT(ran.err, Contains("HEARTH_CACHE_LIMIT is 1GiB") && Contains("uses 10GiB (default)"));
  }
  place.run_ok({"hearth", "daemon", "stop"});
  CHECK_THAT(place.run_ok({"hearth", "run", model}).err, !Contains("HEARTH_WORKERS"));
  const auto settings = place.json({"hearth", "daemon", "status", "--settings", "--json"})["settings"];
  CHECK((settings["workers"]["value"] == "4" && settings["workers"]["from"] == "environment"));
  CHECK((settings["drain_s"]["value"] == "30" && settings["drain_s"]["from"] == "default"));
  const Ran text = place.run_ok({"hearth", "daemon", "status", "--settings"});
  CHECK_THAT(text.out, Contains("cache_limit") && Contains("1GiB") && Contains("environment"));
  CHECK_THAT(place.run_ok({"hearth", "daemon", "status"}).out, !Contains("drain_s"));
}
