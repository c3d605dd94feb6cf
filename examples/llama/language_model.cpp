#include "examples/llama/language_model.h"

#include <utility>

namespace hearth::examples {

absl::StatusOr<std::unique_ptr<LanguageModel>> LanguageModel::load(const std::string& path, const Config& config,
                                                                   const client::PrepareConfig& prepare) {
  onnx::ImportOptions options;
  options.dims = {{"seq", 1}, {"past", {0, config.max_length - 1}}};
  options.dim_expressions = {{"total", "past + seq"}};
  const auto model = onnx::import_model(path, options);
  if (!model.ok()) return model.status();
  // The cache is made in its own memory: a step stores one token's keys and values.
  client::PrepareConfig with_cache = prepare;
  for (const onnx::ModelValue& input : model->inputs) {
    if (input.name.rfind("past_", 0) == 0)
      with_cache.carried.push_back({"present_" + input.name.substr(5), input.name});
  }
  absl::StatusOr<client::PreparedPlan> plan = client::prepare(model->outputs, with_cache);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<client::Instance> instance = plan->instantiate();
  if (!instance.ok()) return instance.status();
  std::unique_ptr<LanguageModel> made(new LanguageModel(*std::move(plan), *std::move(instance), config.max_length));
  for (const client::Carried& cache : with_cache.carried) made->pasts_.push_back(cache.input);
  client::Instance& run = made->instance_;
  if (absl::Status bound = run.bind_input("tokens", &made->token_, sizeof made->token_); !bound.ok()) return bound;
  const std::size_t mask_bytes = made->mask_.size() * sizeof made->mask_[0];
  if (absl::Status bound = run.bind_input("mask", made->mask_.data(), mask_bytes); !bound.ok()) return bound;
  return made;
}

absl::StatusOr<std::span<const float>> LanguageModel::next(std::int64_t token) {
  if (length_ == static_cast<std::int64_t>(mask_.size()))
    return absl::OutOfRangeError("the cache is full: it has room for " + std::to_string(length_) +
                                 " tokens (--max-length makes it larger)");
  token_ = token;
  if (absl::Status set = instance_.set_var("past", length_); !set.ok()) return set;
  if (absl::Status ran = instance_.execute(); !ran.ok()) return ran;
  ++length_;
  const absl::StatusOr<client::ConstView> logits = instance_.output("logits");
  if (!logits.ok()) return logits.status();
  return std::span(static_cast<const float*>(logits->data), logits->size_bytes / sizeof(float));
}

absl::Status LanguageModel::reset() {
  length_ = 0;
  if (absl::Status set = instance_.set_var("past", 0); !set.ok()) return set;
  for (const std::string& past : pasts_) {
    if (absl::Status emptied = instance_.set_carried(past); !emptied.ok()) return emptied;
  }
  return absl::OkStatus();
}

}  // namespace hearth::examples
