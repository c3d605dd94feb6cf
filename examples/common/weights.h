// Weights: where a model of the examples gets its parameters from: a safetensors file, or seeded numbers made on first
// use. Immutable to its users; not thread-safe while a model is recorded. Errors: JitError, with the file's name.
//
//   Weights weights = Weights::seeded(7);
//   Tensor w = weights.parameter("ff1.a.weight", {256, 1024});
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "hearth/safetensors.h"
#include "hearth/tensor.h"

namespace hearth::examples {

class Weights {
 public:
  // Normal numbers of standard deviation 1 / sqrt(length of the second last axis), the same for one seed and name.
  static Weights seeded(std::uint64_t seed);
  static Weights of(client::Safetensors file);

  // A parameter of this name; JitError when the file's has another shape.
  client::Tensor parameter(const std::string& name, client::Shape shape) const;
  bool is_seeded() const { return !file_; }

 private:
  Weights() = default;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const client::Safetensors> file_;
  std::shared_ptr<std::map<std::string, client::ParameterData>> made_;
};

}  // namespace hearth::examples
