// compile_time_bench: what lowering a graph of N repeated layers costs, pass by pass; linear when "ms a layer" stays
// level. Run it on a quiet machine: build/release/bin/compile_time_bench [--layers 1,10,100,300] [--repeat N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/kernel_abi.h"
#include "compiler/compile.h"
#include "tests/bench/compile_time_graphs.h"

namespace {

using namespace hearth;
using bench::Widths;

// One fixed machine, so that figures are of the same work on every host.
v1::Target fixed_target() {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("x86_64-unknown-linux-gnu");
  for (const char* feature : {"avx", "avx2", "f16c", "fma", "sse4.2"}) target.add_features(feature);
  target.set_vector_bits(256);
  target.set_threads(2);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

v1::LoweredPlan lower(const v1::Graph& graph, bool dump) {
  v1::CompileOptions options;
  options.set_opt_level(2);
  options.set_dump(dump);
  absl::StatusOr<v1::LoweredPlan> plan = compiler::lower(graph, fixed_target(), options);
  if (plan.ok()) return *std::move(plan);
  std::cerr << "compile_time_bench: " << plan.status() << "\n";
  std::exit(1);
}

// Least milliseconds of `repeat` runs of lower without texts.
double lower_ms(const v1::Graph& graph, int repeat) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    lower(graph, false);
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count());
  }
  return best;
}

constexpr const char* kPasses[] = {"import", "canonicalize", "rangeify", "fuse", "kernels", "memory_plan", "plan"};

void print_table(const std::vector<int>& layers, Widths widths, int repeat) {
  std::printf("%s\n%6s %7s %8s %7s", widths == Widths::kEqual ? "equal layers" : "layers of distinct widths", "layers",
              "nodes", "launches", "kernels");
  for (const char* pass : kPasses) std::printf(" %*s", std::max(8, static_cast<int>(std::string(pass).size())), pass);
  std::printf(" %10s %10s\n", "lower ms", "ms a layer");
  for (int n : layers) {
    const v1::Graph graph = bench::repeated_layers(n, widths);
    std::map<std::string, double> pass_ms;
    const v1::LoweredPlan plan = lower(graph, true);  // a pass's time is without printing its text
    for (const v1::PassReport& pass : plan.passes()) pass_ms[pass.name()] += static_cast<double>(pass.time_ns()) / 1e6;
    std::printf("%6d %7d %8d %7d", n, graph.nodes_size(), plan.plan().launches_size(), plan.kernels_size());
    for (const char* pass : kPasses)
      std::printf(" %*.2f", std::max(8, static_cast<int>(std::string(pass).size())), pass_ms.at(pass));
    const double total = lower_ms(graph, repeat);
    std::printf(" %10.2f %10.3f\n", total, total / n);
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What lowering a graph of N repeated layers costs, pass by pass");
  std::vector<int> layers = {1, 10, 100, 300};
  int repeat = 3;
  app.add_option("--layers", layers, "Numbers of layers")->delimiter(',')->check(CLI::Range(1, 10000));
  app.add_option("--repeat", repeat, "Runs of which the fastest counts")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  for (Widths widths : {Widths::kEqual, Widths::kDistinct}) print_table(layers, widths, repeat);
  return 0;
}
