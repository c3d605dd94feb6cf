// A process that uses a model: prepares it, replays it once on fixed inputs, prints a line of JSON and stays until its
// standard input ends. For tests and measurements of what several processes of one model share.
//
//   hearth-weights-process model.onnx [plan]   # plan: exports a plan file there as well
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/sha256.h"
#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace {

double monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

int fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hearth;
  if (argc < 2) return 2;
  absl::StatusOr<client::PrepareConfig> config = client::PrepareConfig::from_env();
  if (!config.ok()) return fail(config.status());
  config->threads = 1;
  client::connect_early(*config);
  absl::StatusOr<client::PreparedPlan> plan = absl::InternalError("");
  {
    const auto model = onnx::import_model(argv[1]);
    if (!model.ok()) return fail(model.status());
    plan = client::prepare(model->outputs, *config);
  }
  if (!plan.ok()) return fail(plan.status());
  absl::StatusOr<client::Instance> instance = plan->instantiate();
  if (!instance.ok()) return fail(instance.status());
  const double ready_at_ms = monotonic_ms();
  for (const client::ValueInfo& value : plan->inputs()) {
    const auto input = instance->input(value.name);
    for (std::size_t i = 0; input->dtype == DType::kF32 && i < input->size_bytes / sizeof(float); ++i) {
      static_cast<float*>(input->data)[i] = static_cast<float>(i % 7) / 7;
    }
  }
  if (absl::Status ran = instance->execute(); !ran.ok()) return fail(ran);
  std::string outputs;
  for (const client::ValueInfo& value : plan->outputs()) {
    const auto output = instance->output(value.name);
    outputs.append(static_cast<const char*>(output->data), output->size_bytes);
  }
  if (argc > 2) {
    if (absl::Status saved = plan->export_to(argv[2]); !saved.ok()) return fail(saved);
  }
  const client::PrepareStats& stats = plan->stats();
  const nlohmann::json line = {{"pid", getpid()},
                               {"ready_at_ms", ready_at_ms},
                               {"prepare_ms", stats.prepare_ms},
                               {"once_launches", stats.once_launches},
                               {"shared_weight_bytes", stats.shared_weight_bytes},
                               {"weights_found", stats.weights_found},
                               {"outputs", to_hex(sha256(outputs))}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
