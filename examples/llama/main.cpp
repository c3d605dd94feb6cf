// llama: generates tokens with a decoder from an ONNX file, one plan for every length of its cache.
//
//   examples/llama/make_llama.py llama.onnx --bits 4
//   llama llama.onnx --prompt 3 1 4 --tokens 40
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "examples/common/example_program.h"
#include "examples/llama/language_model.h"
#include "hearth/npy.h"

namespace {

using namespace hearth::examples;

struct Flags {
  std::string path;
  std::vector<std::int64_t> prompt = {3, 1, 4};
  std::int64_t tokens = 40, max_length = 512;
  int threads = 0;
  std::string times, logits;
};

using Clock = std::chrono::steady_clock;

absl::Status run(const Flags& flags) {
  hearth::client::PrepareConfig config;
  config.threads = flags.threads;
  auto model = LanguageModel::load(flags.path, {.max_length = flags.max_length}, config);
  if (!model.ok()) return model.status();
  const hearth::client::PrepareStats& stats = (*model)->stats();
  std::printf("prepared in %.1f ms: %u kernels, %u compiled now\n", stats.prepare_ms, stats.kernels,
              stats.compiled_kernels);
  std::vector<std::int64_t> tokens = flags.prompt;
  std::vector<float> times_us, logits;
  std::size_t vocabulary = 0;
  for (std::size_t step = 0; step + 1 < flags.prompt.size() + static_cast<std::size_t>(flags.tokens); ++step) {
    const Clock::time_point before = Clock::now();
    const auto scores = (*model)->next(tokens[step]);
    if (!scores.ok()) return scores.status();
    times_us.push_back(std::chrono::duration<float, std::micro>(Clock::now() - before).count());
    vocabulary = scores->size();
    if (!flags.logits.empty()) logits.insert(logits.end(), scores->begin(), scores->end());
    if (step + 1 == tokens.size()) tokens.push_back(std::max_element(scores->begin(), scores->end()) - scores->begin());
  }
  for (const std::int64_t token : tokens) std::printf("%lld ", static_cast<long long>(token));
  std::vector<float> sorted = times_us;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) std::printf("\n%zu steps, median %.0f us\n", sorted.size(), sorted[sorted.size() / 2]);
  const auto steps = static_cast<std::int64_t>(times_us.size());
  if (!flags.times.empty()) {
    const absl::Status saved = hearth::client::write_npy(flags.times, hearth::DType::kF32, {steps}, times_us.data(),
                                                         times_us.size() * sizeof(float));
    if (!saved.ok()) return saved;
  }
  if (flags.logits.empty()) return absl::OkStatus();
  return hearth::client::write_npy(flags.logits, hearth::DType::kF32, {steps, static_cast<std::int64_t>(vocabulary)},
                                   logits.data(), logits.size() * sizeof(float));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Generates tokens with a decoder from an ONNX file.", "llama");
  Flags flags;
  app.add_option("model", flags.path, "ONNX file, as make_llama.py writes it")->required();
  app.add_option("--prompt", flags.prompt, "The first tokens")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--tokens", flags.tokens, "Tokens to generate")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--max-length", flags.max_length, "Tokens that the cache has room for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of a replay; 0: every CPU")->capture_default_str();
  app.add_option("--times", flags.times, "Writes the time of each step, us")->type_name("FILE.npy");
  app.add_option("--logits", flags.logits, "Writes what each step gives, [steps, vocabulary]")->type_name("FILE.npy");
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
