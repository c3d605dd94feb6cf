// hearth emit and explain --target: code for machines that are not here, told by its own headers, and a manifest that
// says how it is launched.
#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "tests/integration/place.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth::integration;
using Catch::Matchers::Contains;
using hearth::onnx::ModelBuilder;
using Json = nlohmann::json;

namespace {

// softmax(x w) of `rows` rows, 1 to 64.
std::string attention_like(const Place& place) {
  ModelBuilder m(17);
  m.symbolic_input("x", {"rows", "columns"}).input("w", {48, 80});
  m.node("MatMul", {"x", "w"}, {"p"}, "product").node("Softmax", {"p"}, {"q"}, "softmax").attr("axis", -1);
  m.output("q");
  return place.write("m.onnx", m.proto().SerializeAsString());
}

Ran emit(Place& place, const std::string& target, const std::string& folder) {
  return place.run({"hearth", "emit", attention_like(place), "--dim", "rows=1:64", "--dim", "columns=48", "--target",
                    target, "--output-dir", place.file(folder)});
}

Json manifest_of(const Place& place, const std::string& folder) {
  return Json::parse(content(place.file(folder) + "/manifest.json"));
}

std::uint32_t word_at(const std::string& bytes, std::size_t place) {
  std::uint32_t word = 0;
  if (place + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + place, sizeof word);
  return word;
}

// Of a SPIR-V module: where the instructions of `opcode` begin, in words.
constexpr std::uint32_t kExecutionMode = 16, kControlBarrier = 224;
std::vector<std::size_t> instructions_of(const std::string& code, std::uint32_t opcode) {
  std::vector<std::size_t> found;
  for (std::size_t at = 5; at * 4 < code.size();) {
    const std::uint32_t word = word_at(code, at * 4);
    if ((word & 0xffff) == opcode) found.push_back(at);
    at += std::max<std::size_t>(1, word >> 16);
  }
  return found;
}

Json local_size(const std::string& code) {
  constexpr std::uint32_t kLocalSize = 17;
  for (const std::size_t at : instructions_of(code, kExecutionMode)) {
    if (word_at(code, (at + 2) * 4) != kLocalSize) continue;
    return {word_at(code, (at + 3) * 4), word_at(code, (at + 4) * 4), word_at(code, (at + 5) * 4)};
  }
  return nullptr;
}

// Whether code is what its format's header says, for the target's machine.
void check_code(const std::string& target, const std::string& code) {
  constexpr std::uint32_t kSpirvMagic = 0x07230203;
  constexpr std::uint16_t kX86 = 62, kAarch64 = 183;  // e_machine of ELF
  if (target.rfind("vulkan:", 0) == 0) {
    CHECK(word_at(code, 0) == kSpirvMagic);
  } else if (target == "null") {
    CHECK(code.rfind("%0 = ", 0) == 0);
  } else {
    CHECK(code.substr(0, 4) ==
          "\x7f"
          "ELF");
    const auto machine = static_cast<std::uint16_t>(word_at(code, 18));
    if (target == "cpu:armv8.2-a") CHECK(machine == kAarch64);
    if (target.rfind("cpu:x86", 0) == 0) CHECK(machine == kX86);
  }
}

}  // namespace

TEST_CASE("emit: every target's kernels are files of its own format, and the manifest says how they are launched") {
  Place place;
  for (const std::string target :
       {"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:armv8.2-a", "null", "vulkan:lavapipe", "vulkan:minimal"}) {
    INFO(target);
    const std::string folder = "out-" + target;
    const Ran ran = emit(place, target, folder);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Json manifest = manifest_of(place, folder);
    INFO(manifest.dump(2));
    CHECK(manifest["target"]["device"] == target.substr(0, target.find(':')));
    CHECK(manifest["variables"] == Json::array({{{"name", "rows"}, {"min", 1}, {"max", 64}}}));
    const Json &kernels = manifest["kernels"], &buffers = manifest["buffers"], &launches = manifest["launches"];
    REQUIRE_FALSE(kernels.empty());
    std::size_t files = 1;  // the manifest
    int workgroups = 0;
    for (const Json& kernel : kernels) {
      const std::string code = content(place.file(folder) + "/" + kernel["file"].get<std::string>());
      CHECK(kernel["bytes"] == code.size());
      CHECK(kernel["sha256"] == hearth::to_hex(hearth::sha256(code)));
      check_code(target, code);
      const bool is_gpu = target.rfind("vulkan:", 0) == 0;
      CHECK(kernel.contains("workgroup") == is_gpu);
      CHECK(kernel.contains("unit_is_workgroup") == is_gpu);
      if (is_gpu) {
        const bool has_barriers = !instructions_of(code, kControlBarrier).empty();
        CHECK(kernel["workgroup"] == local_size(code));
        CHECK(kernel["unit_is_workgroup"] == has_barriers);
        CHECK((has_barriers || kernel["workgroup"] == Json::array({64, 1, 1})));
        workgroups += has_barriers;
      }
      ++files;
    }
    REQUIRE_FALSE(launches.empty());
    bool writes_output = false;
    for (const Json& launch : launches) {
      CHECK(launch["kernel"] < kernels.size());
      for (const Json& buffer : launch["buffers"]) REQUIRE(buffer < buffers.size());
      const Json& result = buffers[launch["buffers"][0].get<std::size_t>()];
      writes_output |= result["kind"] == "output" && result["name"] == "q";
      CHECK(launch["max_units"] >= 1);
    }
    CHECK(writes_output);
    for (const Json& buffer : buffers) {
      if (buffer["name"] == "x") {
        CHECK(buffer["shape"] == Json::array({"rows", 48}));
        CHECK(buffer["max_bytes"] == 64 * 48 * 4);
      }
      files += buffer["kind"] == "constant";
    }
    CHECK((workgroups > 0) == (target.rfind("vulkan:", 0) == 0));  // the softmax's rows
    CHECK(static_cast<std::size_t>(std::distance(fs::directory_iterator(place.file(folder)), {})) == files);
  }
}

TEST_CASE("emit: the record of a manifest is a target of its own, and gives the same code") {
  Place place;
  REQUIRE(emit(place, "vulkan:minimal", "named").code == 0);
  const Json manifest = manifest_of(place, "named");
  REQUIRE(emit(place, place.write("gpu.json", manifest["target"].dump()), "recorded").code == 0);
  CHECK(manifest_of(place, "recorded") == manifest);
}

TEST_CASE("emit: a folder with files, an unknown target and a record of nonsense are refused, with what to do") {
  Place place;
  REQUIRE(emit(place, "vulkan:lavapipe", "out").code == 0);
  const Ran again = emit(place, "vulkan:lavapipe", "out");
  CHECK(again.code == 1);
  CHECK_THAT(again.err, Contains("has files in it; name a new folder"));

  const Ran unknown = emit(place, "vulkan:lavapip", "other");
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("no target 'vulkan:lavapip'") && Contains("did you mean vulkan:lavapipe?"));

  Json record = manifest_of(place, "out")["target"];
  const auto refusal = [&](const Json& changed) {
    const Ran ran = emit(place, place.write("gpu.json", changed.dump()), "other");
    CHECK(ran.code == 1);
    CHECK_FALSE(fs::exists(place.file("other")));
    return ran.err;
  };
  Json changed = record;
  changed["gpu"]["workgroup_size"] = 5000;
  CHECK_THAT(refusal(changed), Contains("target.gpu.workgroup_size: 5000 is not from 1 to"));
  changed = record;
  changed["gpu"]["max_buffer_bytes"] = "10000";
  CHECK_THAT(refusal(changed), Contains("input 'x' takes 12288 bytes") && Contains("vulkan:lavapipe at most 10000"));
  changed = record;
  changed["gpu"]["subgroups"] = 4;
  CHECK_THAT(refusal(changed), Contains("gpu.json: no target's record") && Contains("subgroups"));
  CHECK_THAT(refusal(Json("cpu")), Contains("gpu.json: no target's record"));
}

TEST_CASE("explain --target: kernels of a GPU that is not here, and the SPIR-V of one") {
  Place place;
  const std::string model = attention_like(place);
  const auto explain = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"hearth", "explain", model, "--dim", "rows=1:64", "--dim", "columns=48"};
    words.insert(words.end(), more.begin(), more.end());
    return place.run(words);
  };
  const Ran all = explain({"--target", "vulkan:lavapipe"});
  CHECK(all.code == 0);
  CHECK_THAT(all.out, Contains("vulkan, lavapipe") && Contains("launches a replay"));
  const Ran one = explain({"--target", "vulkan:lavapipe", "--kernel", "0"});
  CHECK_THAT(one.out, Contains("64 invocations"));
  const Ran spirv = explain({"--target", "vulkan:lavapipe", "--kernel", "0", "--show", "spirv"});
  CHECK_THAT(spirv.out, Contains("OpEntryPoint GLCompute %main \"main\"") && Contains("LocalSize 64 1 1"));
  CHECK_THAT(explain({"--target", "cuda:sm_80", "--kernel", "0", "--show", "ptx"}).out, Contains(".target sm_80"));
  CHECK_THAT(explain({"--target", "hip:gfx942", "--kernel", "0", "--show", "amdgpu"}).out, Contains("gfx942"));
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--target", "vulkan:lavapipe", "--kernel", "0", "--show", "ir"},
        {"--kernel", "0", "--show", "spirv"},
        {"--target", "hip:gfx942", "--kernel", "0", "--show", "ptx"},
        {"--kernel", "0", "--show", "amdgpu"}}) {
    const Ran ran = explain(wrong);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Contains("none is made for device"));
  }
  CHECK(explain({"--target", "vulkan:lavapipe", "--device", "cpu"}).code == 2);
  CHECK(explain({"--target", "vulkan:lavapipe", "--measure"}).code == 2);
}
