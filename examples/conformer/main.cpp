// conformer: encodes batches of different sizes and lengths with one plan, says what that takes, and decodes the last.
//
//   conformer --layers 4 --batch 4 --frames 800 --decode rnnt
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "examples/common/example_program.h"
#include "examples/conformer/conformer.h"
#include "examples/conformer/ctc.h"
#include "examples/conformer/transducer.h"

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
  std::string decode;  // "ctc", "rnnt" or nothing
};

using hearth::client::ConstView;
using hearth::client::PrepareConfig;

void print_tokens(std::int64_t sequence, const std::vector<std::int64_t>& tokens) {
  std::printf("sequence %lld:", static_cast<long long>(sequence));
  for (const std::int64_t token : tokens) std::printf(" %lld", static_cast<long long>(token));
  std::printf("\n");
}

// `encoded` [b, width, t] is read in place.
absl::Status decode_ctc(const ConstView& encoded, const Weights& weights, const PrepareConfig& config) {
  using hearth::examples::CtcHead;
  const std::int64_t batch = encoded.shape[0], width = encoded.shape[1], frames = encoded.shape[2];
  const CtcHead head({.width = width, .max_batch = batch, .max_frames = frames}, weights);
  const hearth::examples::CtcHeadJit wrapper(head);
  auto jit = wrapper.prepare_with_config(InputSpec::f32({wrapper.dim_b(), width, wrapper.dim_t()}), config);
  if (!jit.ok()) return jit.status();
  if (absl::Status bound = jit->bind_input("encoded", encoded.data, encoded.size_bytes); !bound.ok()) return bound;
  if (absl::Status ran = jit->execute(); !ran.ok()) return ran;
  const auto output = jit->output();
  if (!output.ok()) return output.status();
  const auto log_probabilities = output->as<float>();
  if (!log_probabilities.ok()) return log_probabilities.status();
  const auto classes = head.config().classes;
  const auto rows = static_cast<std::size_t>(frames * classes);
  for (std::int64_t b = 0; b < batch; ++b)
    print_tokens(
        b, hearth::examples::ctc_greedy(log_probabilities->subspan(static_cast<std::size_t>(b) * rows, rows), classes));
  return absl::OkStatus();
}

absl::Status decode_rnnt(const ConstView& encoded, const Weights& weights, const PrepareConfig& config) {
  using hearth::examples::GreedyTransducer;
  using hearth::examples::Transducer;
  auto greedy = GreedyTransducer::make(Transducer({.width = encoded.shape[1]}, weights), config);
  if (!greedy.ok()) return greedy.status();
  for (std::int64_t b = 0; b < encoded.shape[0]; ++b) {
    const auto tokens = greedy->decode(encoded, b, encoded.shape[2]);
    if (!tokens.ok()) return tokens.status();
    print_tokens(b, *tokens);
  }
  return absl::OkStatus();
}

absl::Status run(const Flags& flags) {
  const ConformerConfig config = {.layers = flags.layers, .max_batch = flags.batch, .max_frames = flags.frames};
  const Weights weights = Weights::seeded(7);
  const PrepareConfig prepare = {.threads = flags.threads};
  auto jit = ConformerJit(Conformer(config, weights))
                 .prepare_with_config(InputSpec::f32({flags.batch, config.mels, flags.frames}),
                                      InputSpec::i64({flags.batch}), prepare);
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
  if (flags.decode.empty()) return absl::OkStatus();
  const auto encoded = jit->output();
  if (!encoded.ok()) return encoded.status();
  return flags.decode == "ctc" ? decode_ctc(*encoded, weights, prepare) : decode_rnnt(*encoded, weights, prepare);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Encodes batches of any size and length with one plan of a Conformer.", "conformer");
  Flags flags;
  app.add_option("--layers", flags.layers, "Conformer layers")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--batch", flags.batch, "Largest batch")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--frames", flags.frames, "Most mel frames")->check(CLI::Range(4, 10000))->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of a replay; 0: every CPU")->capture_default_str();
  app.add_option("--decode", flags.decode, "Prints the tokens of the last batch by a head of seeded weights")
      ->check(CLI::IsMember({"ctc", "rnnt"}));
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
