// prepare_hit_bench MODEL SOCKET [ROUNDS]: a plan that the daemon has, prepared again and again by this process: the
// call alone, and all until it can be replayed. To compare a user's own daemon with the node's service, as another
// user.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace {

void row(const char* what, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double share) {
    return ms[static_cast<std::size_t>(share * static_cast<double>(ms.size() - 1))];
  };
  std::printf("%-22s least %.3f  p50 %.3f  p99 %.3f ms\n", what, at(0), at(0.5), at(0.99));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: prepare_hit_bench MODEL SOCKET [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 500;
  const auto model = hearth::onnx::import_model(argv[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().ToString().c_str()), 1;
  std::vector<double> rpc_ms, prepare_ms;
  for (int i = 0; i < rounds + 10; ++i) {
    const auto plan =
        hearth::prepare(model->outputs, {.socket = argv[2], .threads = 1, .auto_start = false, .share_weights = false});
    if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.status().ToString().c_str()), 1;
    if (i < 10) continue;
    rpc_ms.push_back(plan->stats().rpc_ms);
    prepare_ms.push_back(plan->stats().prepare_ms);
  }
  row("the call", rpc_ms);
  row("until it can replay", prepare_ms);
}
