// startup_bench: the times that issue "one model file, one daemon, many processes" promises, as a table. Run it on a
// quiet machine: HEARTH_SOURCE_DIR=. HEARTH_BIN_DIR=build/release/bin build/release/bin/startup_bench
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "tests/bench/grpc_echo.h"
#include "tests/integration/place.h"
#include "tests/support/model_files.h"

namespace {

using hearth::integration::Place;
using hearth::integration::Ran;
namespace fs = std::filesystem;

constexpr int kPrepares = 1000;
constexpr int kStarts = 20;
constexpr int kColdStarts = 5;
constexpr int kEchoes = 2000;
constexpr std::size_t kEchoBytes = 4096;

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.at(std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size()))));
}

void row(const char* what, const std::vector<double>& values, const char* unit, const char* wanted) {
  std::printf("%-46s %6zu %10.3f %10.3f %10.3f %10.3f  %-3s %s\n", what, values.size(), at(values, 0), at(values, 0.5),
              at(values, 0.99), at(values, 1), unit, wanted);
  std::fflush(stdout);
}

// The number after `label` in what a program printed.
double number_after(const std::string& text, const std::string& label) {
  const std::size_t found = text.find(label);
  if (found == std::string::npos) throw std::runtime_error("'" + label + "' is not in: " + text);
  return std::stod(text.substr(found + label.size()));
}

std::string digits_file(const std::string& name) {
  return hearth::integration::source_dir() / "examples" / "digits" / name;
}
std::vector<std::string> digits() {
  return {"digits",
          "--model",
          digits_file("digits.onnx"),
          "--images",
          digits_file("digits_images.npy"),
          "--labels",
          digits_file("digits_labels.npy"),
          "--threads",
          "1"};
}

void warm_prepare() {
  Place place;
  const auto model = hearth::onnx::import_model(digits_file("digits.onnx"));
  if (!model.ok()) throw std::runtime_error(std::string(model.status().message()));
  place.run_ok({"hearth", "daemon", "start"});
  std::vector<double> rpc_ms, whole_ms;
  for (int i = 0; i <= kPrepares; ++i) {
    const auto plan = hearth::client::prepare(model->outputs, {.socket = place.socket(), .threads = 1});
    if (!plan.ok()) throw std::runtime_error(std::string(plan.status().message()));
    if (i == 0) continue;  // compiles
    if (plan->stats().compiled_kernels != 0) throw std::runtime_error("a warm prepare compiled kernels");
    rpc_ms.push_back(plan->stats().rpc_ms);
    whole_ms.push_back(plan->stats().prepare_ms);
  }
  row("warm Prepare RPC, digits", rpc_ms, "ms", "p50 <= 0.5");
  row("warm prepare(): trace to loaded kernels, digits", whole_ms, "ms", "");
}

void digits_processes() {
  std::vector<double> cold_prepare, cold_first, cold_wall;
  for (int i = 0; i < kColdStarts; ++i) {
    Place place;
    const Ran ran = place.run_ok(digits());
    cold_prepare.push_back(number_after(ran.out, "\nprepare"));
    cold_first.push_back(number_after(ran.out, "first result"));
    cold_wall.push_back(ran.wall_ms);
  }
  row("digits, cold, no daemon: prepare", cold_prepare, "ms", "<= 2000");
  row("digits, cold, no daemon: start to first result", cold_first, "ms", "");
  row("digits, cold, no daemon: whole process", cold_wall, "ms", "");
  Place place;
  place.run_ok(digits());
  std::vector<double> prepare, first, wall, rpc;
  for (int i = 0; i < kStarts; ++i) {
    const Ran ran = place.run_ok(digits());
    prepare.push_back(number_after(ran.out, "\nprepare"));
    rpc.push_back(number_after(ran.out, "(RPC"));
    first.push_back(number_after(ran.out, "first result"));
    wall.push_back(ran.wall_ms);
  }
  row("digits, warm process: Prepare RPC (its first)", rpc, "ms", "");
  row("digits, warm process: prepare", prepare, "ms", "");
  row("digits, warm process: start to first result", first, "ms", "<= 60");
  row("digits, warm process: whole process", wall, "ms", "");
}

void silero() {
  const fs::path model = hearth::test::model_file("silero_vad_16k_op15.onnx");
  const fs::path wav = hearth::test::model_file("speech_16k.wav");
  if (model.empty() || wav.empty()) return;
  const std::vector<std::string> words = {"silero_vad", "--model", model, "--wav", wav};
  std::vector<double> cold, warm, first, chunk;
  std::optional<Place> place;
  for (int i = 0; i < 3; ++i) {
    place.emplace();
    cold.push_back(number_after(place->run_ok(words).out, "prepared in"));
  }
  for (int i = 0; i < 10; ++i) {
    const Ran ran = place->run_ok(words);
    warm.push_back(number_after(ran.out, "prepared in"));
    first.push_back(number_after(ran.out, "first result"));
    chunk.push_back(number_after(ran.out.substr(ran.out.find("real-time factor")), ", "));
  }
  row("Silero, cold, no daemon: prepare", cold, "ms", "<= 6000");
  row("Silero, warm process: prepare", warm, "ms", "");
  row("Silero, warm process: start to first result", first, "ms", "");
  row("Silero: replay of a chunk, mean of 1,875", chunk, "us", "");
}

}  // namespace

int main() {
  try {
    std::printf("%-46s %6s %10s %10s %10s %10s\n", "", "count", "min", "p50", "p99", "max");
    {
      const Place place;  // first: it forks
      row("bare gRPC echo of 4 KB, unix socket",
          hearth::bench::measure_echo(place.file("echo.sock"), kEchoBytes, kEchoes), "us", "for comparison");
    }
    digits_processes();
    silero();
    warm_prepare();
  } catch (const std::exception& error) {
    std::cerr << "startup_bench: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
