// conformer: encodes batches of different sizes and lengths with one plan, and says what that takes.
//
//   conformer --layers 4 --batch 4 --frames 800
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "examples/common/example_program.h"
#include "examples/conformer/conformer.h"

namespace {

using hearth::client::copy_into;
using hearth::client::InputSpec;
using hearth::examples::Conformer;
using hearth::examples::ConformerConfig;
using hearth::examples::ConformerJit;
using hearth::examples::Weights;

struct Flags {
  std::int64_t layers = 4;
  std::int64_t batch = 4;
  std::int64_t frames = 800;
  int threads = 0;
};

absl::Status run(const Flags& flags) {
  const ConformerConfig config = {.layers = flags.layers, .max_batch = flags.batch, .max_frames = flags.frames};
  auto jit = ConformerJit(Conformer(config, Weights::seeded(7)))
                 .prepare_with_config(InputSpec::f32({flags.batch, config.mels, flags.frames}),
                                      InputSpec::i64({flags.batch}), {.threads = flags.threads});
  if (!jit.ok()) return jit.status();
  const auto stats = jit->stats();
  std::printf("prepared in %.1f ms: %u kernels, %u compiled now\n", stats->prepare_ms, stats->kernels,
              stats->compiled_kernels);
  const auto mel = jit->mel_mut()->as<float>();
  if (!mel.ok()) return mel.status();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : *mel) value = normal(random);
  for (const auto& [batch, frames] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, flags.frames},
                                                          {1, (flags.frames + 1) / 2},
                                                          {flags.batch, flags.frames / 4 + 1},
                                                          {flags.batch, flags.frames}}) {
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), frames);
    if (absl::Status written = copy_into(jit->lengths_mut(), lengths); !written.ok()) return written;
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status ran = jit->execute_with_vars({{"b", batch}, {"t", frames}}); !ran.ok()) return ran;
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const auto out = jit->output();
    if (!out.ok()) return out.status();
    const auto encoded = out->as<float>();
    if (!encoded.ok()) return encoded.status();
    double sum = 0;
    for (const float value : *encoded) sum += std::fabs(static_cast<double>(value));
    std::printf("b %lld, t %4lld -> [%lld, %lld, %lld] in %8.2f ms, mean magnitude %.4f\n",
                static_cast<long long>(batch), static_cast<long long>(frames), static_cast<long long>(out->shape[0]),
                static_cast<long long>(out->shape[1]), static_cast<long long>(out->shape[2]), ms,
                sum / static_cast<double>(encoded->size()));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Encodes batches of any size and length with one plan of a Conformer.", "conformer");
  Flags flags;
  app.add_option("--layers", flags.layers, "Conformer layers")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--batch", flags.batch, "Largest batch")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--frames", flags.frames, "Most mel frames")->check(CLI::Range(4, 10000))->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of a replay; 0: every CPU")->capture_default_str();
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
