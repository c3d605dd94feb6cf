// decoder: generates tokens with a seeded decoder-only transformer whose cache stays in the plan's own buffers.
//
//   decoder --prompt 3 1 4 --tokens 40
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "examples/common/example_program.h"
#include "examples/decoder/decoder.h"

namespace {

using namespace hearth::examples;

struct Flags {
  std::vector<std::int64_t> prompt = {3, 1, 4};
  std::size_t tokens = 40;
  int threads = 1;
};

absl::Status run(const Flags& flags) {
  auto generator = Generator::make({}, Weights::seeded(7), {.threads = flags.threads});
  if (!generator.ok()) return generator.status();
  const auto stats = generator->stats();
  if (!stats.ok()) return stats.status();
  std::printf("prepared in %.1f ms: %u kernels, %u compiled now\n", stats->prepare_ms, stats->kernels,
              stats->compiled_kernels);
  const auto start = std::chrono::steady_clock::now();
  const auto tokens = generator->generate(flags.prompt, flags.tokens);
  if (!tokens.ok()) return tokens.status();
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  for (std::int64_t token : *tokens) std::printf("%lld ", static_cast<long long>(token));
  std::printf("\n%zu tokens, %.1f us each\n", tokens->size(),
              us / static_cast<double>(tokens->size() + flags.prompt.size() - 1));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Generates tokens with a seeded decoder-only transformer.", "decoder");
  Flags flags;
  app.add_option("--prompt", flags.prompt, "Tokens from 0 to 255")->check(CLI::Range(0, 255))->capture_default_str();
  app.add_option("--tokens", flags.tokens, "Tokens to generate")->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of a replay; 0: every CPU")->capture_default_str();
  return hearth::examples::run_example(app, argc, argv, [&] { return run(flags); });
}
