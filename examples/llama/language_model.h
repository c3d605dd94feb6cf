// LanguageModel: a decoder from an ONNX file, as ONNX Runtime's generator has them, token by token. One plan serves
// every length of the cache; what a step appends to it is the next step's past without a copy (Instance::carry).
//
// Inputs of the model: tokens [1, seq] and mask [1, total] (i64), any number of past_NAME [1, heads, past, size];
// outputs logits [1, seq, vocabulary] and a present_NAME [1, heads, total, size] for each past. Used by one thread at a
// time.
//
//   auto model = LanguageModel::load("llama.onnx", {.max_length = 512}, config);
//   absl::StatusOr<std::span<const float>> logits = (*model)->next(token);
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace hearth::examples {

class LanguageModel {
 public:
  struct Config {
    std::int64_t max_length = 512;  // tokens, the first included
  };
  static absl::StatusOr<std::unique_ptr<LanguageModel>> load(const std::string& path, const Config& config,
                                                             const client::PrepareConfig& prepare);

  // What follows `token`, which follows those before: [vocabulary], valid until the next call. OUT_OF_RANGE when the
  // cache is full.
  absl::StatusOr<std::span<const float>> next(std::int64_t token);
  // Forgets all tokens.
  absl::Status reset();

  std::int64_t length() const { return length_; }
  const client::PrepareStats& stats() const { return plan_.stats(); }

 private:
  LanguageModel(client::PreparedPlan plan, client::Instance instance, std::int64_t max_length)
      : plan_(std::move(plan)), instance_(std::move(instance)), mask_(static_cast<std::size_t>(max_length), 1) {}

  client::PreparedPlan plan_;
  client::Instance instance_;
  std::vector<std::string> pasts_;  // inputs
  std::vector<std::int64_t> mask_;  // of all positions: none is padding
  std::int64_t token_ = 0, length_ = 0;
};

}  // namespace hearth::examples
