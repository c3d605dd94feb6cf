// Kernels that a replay of each model runs, copies of operands included, against how many were promised.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "base/kernel_abi.h"
#include "compiler/compile.h"
#include "tests/support/skip.h"
#include "tests/unit/memory_plan/models.h"

namespace hearth {

TEST_CASE("models run in the kernels that were promised") {
  const std::map<std::string, int> most = {{"attention_h8_t512_d64", 2},
                                           {"chain5_16M", 1},
                                           {"conformer_d256_h4_t256", 20},
                                           {"conformer_d256_h4_t256_dynamic 1x256", 20},
                                           {"conformer_d256_h4_t256_dynamic 3x37", 20},
                                           {"conv2d_3x3_64_56", 1},
                                           {"dwconv1d_k31_c512_t1024", 1},
                                           {"gemv_4096", 1},
                                           {"layernorm_4096x1024", 1},
                                           {"matmul_1024_wconst", 1},
                                           {"mlp_b1", 3},
                                           {"mlp_b64", 3},
                                           {"softmax_4096x4096", 1},
                                           {"tiny10_1K", 1}};
  const char* source_dir = std::getenv("HEARTH_SOURCE_DIR");
  REQUIRE(source_dir != nullptr);
  std::size_t checked = 0;
  for (const ModelCase& model : model_cases(source_dir)) {
    const absl::StatusOr<v1::Graph> graph = traced(model);
    INFO(model.name << ": " << graph.status());
    REQUIRE(graph.ok());
    v1::Target target;
    target.set_device("cpu");
    target.set_triple("x86_64-unknown-linux-gnu");
    target.set_vector_bits(512);
    target.set_threads(1);
    target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
    v1::CompileOptions options;
    options.set_opt_level(2);
    const absl::StatusOr<v1::LoweredPlan> lowered = compiler::lower(*graph, target, options);
    INFO(lowered.status());
    REQUIRE(lowered.ok());
    int launches = 0;
    for (const v1::Launch& launch : lowered->plan().launches()) launches += !launch.once();
    std::printf("%-40s %3d kernels a replay\n", model.name.c_str(), launches);
    CHECK(launches > 0);
    if (auto limit = most.find(model.name); limit != most.end()) {
      ++checked;
      CHECK(launches <= limit->second);
    }
  }
  std::fflush(stdout);
  CHECK(checked == most.size());
}

}  // namespace hearth
