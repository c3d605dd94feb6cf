// The nets of tests/bench/nets, lowered for processors with 512 and 256 bits: no kernel that matters is estimated far
// below what others of its kind reach. compare_nets.py --kernels says the same of measured times.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/kernel_abi.h"
#include "compiler/compile.h"
#include "tests/support/skip.h"
#include "tests/unit/memory_plan/models.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr double kMinShare = 0.01;  // of a net's arithmetic
constexpr double kMinRate = 0.25;   // of the best of a class
constexpr double kDense = 8;        // operations a byte: below, memory limits a kernel
constexpr double kMemoryRate = 16;  // bytes a cycle: no stream is faster

struct Kernel {
  std::string net, symbol, source, opts;
  bool dense;
  double share;
  double rate;  // the least that its arithmetic or its bytes take, whichever is more, over what is estimated
};

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("hearth-nets-" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

v1::Target target_of(std::uint32_t vector_bits) {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("x86_64-unknown-linux-gnu");
  target.set_vector_bits(vector_bits);
  target.set_l2_bytes(1 << 20);
  target.set_threads(1);
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

std::string text_of(const v1::KernelChoice& choice) {
  std::string text;
  for (const v1::Opt& opt : choice.opts()) text += opt.ShortDebugString() + "; ";
  return text;
}

std::vector<Kernel> kernels_of(const fs::path& model, const v1::Target& target) {
  const absl::StatusOr<v1::Graph> graph = traced({model.stem().string(), model, {}});
  INFO(model << ": " << graph.status());
  REQUIRE(graph.ok());
  v1::CompileOptions options;
  options.set_opt_level(2);
  options.set_dump(true);
  const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(*graph, target, options);
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  double work = 0;
  std::vector<double> ops(static_cast<std::size_t>(lowered->kernels_size()), 0);
  for (const v1::Launch& launch : lowered->plan().launches()) {
    if (launch.once()) continue;
    const auto of_one = static_cast<double>(lowered->kernel_costs(static_cast<int>(launch.kernel())).ops());
    ops[launch.kernel()] += of_one;
    work += of_one;
  }
  std::vector<Kernel> kernels;
  for (int i = 0; i < lowered->kernels_size(); ++i) {
    const v1::KernelCost& cost = lowered->kernel_costs(i);
    const double share = ops[static_cast<std::size_t>(i)] / work;
    if (share <= kMinShare) continue;
    REQUIRE(cost.cycles() > 0);
    const auto bytes = static_cast<double>(cost.bytes_read() + cost.bytes_written());
    const auto cycles = static_cast<double>(cost.cycles());
    const bool dense = static_cast<double>(cost.ops()) >= kDense * bytes;
    const double least = std::max(static_cast<double>(cost.least_cycles()), bytes / kMemoryRate);
    const double rate = std::min(1.0, least / cycles);  // estimates know of no memory
    kernels.push_back({model.stem().string(), lowered->kernels(i).symbol(), lowered->kernel_sources(i),
                       text_of(lowered->choices(i)), dense, share, rate});
  }
  return kernels;
}

}  // namespace

TEST_CASE("no kernel with more than a hundredth of a net's arithmetic is far below its class") {
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  const Folder folder;
  const std::string script = (fs::path(source_dir) / "tests/bench/nets/make_nets.py").string();
  if (std::system("/usr/bin/python3 -c 'import numpy, onnx' 2>/dev/null") != 0)
    SKIP_CASE("/usr/bin/python3 has no numpy and onnx, with which the nets are made");
  REQUIRE(std::system(("/usr/bin/python3 '" + script + "' '" + folder.path.string() + "' > /dev/null").c_str()) == 0);
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(folder.path)) models.push_back(entry.path());
  std::ranges::sort(models);
  CHECK(models.size() >= 45);
  for (std::uint32_t vector_bits : {512U, 256U}) {
    std::vector<Kernel> kernels;
    for (const fs::path& model : models) {
      for (Kernel& kernel : kernels_of(model, target_of(vector_bits))) kernels.push_back(std::move(kernel));
    }
    for (bool dense : {true, false}) {
      double best = 0;
      for (const Kernel& kernel : kernels) best = kernel.dense == dense ? std::max(best, kernel.rate) : best;
      CHECK(best > 0.8);
      for (const Kernel& kernel : kernels) {
        if (kernel.dense != dense || kernel.rate >= kMinRate * best) continue;
        std::cout << vector_bits << " bits: " << kernel.net << " " << kernel.symbol << " " << 100 * kernel.share
                  << " % of its arithmetic at " << kernel.rate << ", the best " << (dense ? "dense" : "streaming")
                  << " kernel at " << best << "\n  " << kernel.source << "\n  " << kernel.opts << "\n";
        CHECK(kernel.rate >= kMinRate * best);
      }
    }
  }
}

}  // namespace hearth
