#include "examples/common/weights.h"

#include <cmath>
#include <vector>

#include "base/text.h"
#include "hearth/error.h"

namespace hearth::examples {

using namespace hearth::client;

Weights Weights::seeded(std::uint64_t seed) {
  Weights weights;
  weights.seed_ = seed;
  weights.made_ = std::make_shared<std::map<std::string, ParameterData>>();
  return weights;
}

Weights Weights::of(Safetensors file) {
  Weights weights;
  weights.file_ = std::make_shared<const Safetensors>(std::move(file));
  return weights;
}

Tensor Weights::parameter(const std::string& name, Shape shape) const {
  if (file_) {
    Tensor found = file_->parameter(name);
    if (found.shape() != shape) {
      throw JitError(absl::InvalidArgumentError(str_cat("weight '", name, "' has shape ", to_string(found.shape()),
                                                        "; the model expects ", to_string(shape))));
    }
    return found;
  }
  ParameterData& data = (*made_)[name];
  if (data.data == nullptr) {
    // Box-Muller over SplitMix64: the same numbers with every standard library.
    std::uint64_t state = seed_;
    for (unsigned char c : name) state = (state ^ c) * 0x100000001b3U;
    const auto uniform = [&state] {
      std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
    };
    const double deviation =
        shape.size() < 2 ? 0.1 : 1 / std::sqrt(static_cast<double>(shape[shape.size() - 2].value()));
    auto values = std::make_shared<std::vector<float>>();
    const std::int64_t size = num_elements(shape).value();
    for (std::int64_t i = 0; i < size; ++i) {
      const double radius = std::sqrt(-2 * std::log(uniform()));
      values->push_back(static_cast<float>(deviation * radius * std::cos(6.283185307179586 * uniform())));
    }
    data = {values->data(), values->size() * sizeof(float), values};
  }
  return client::parameter(name, std::move(shape), DType::kF32, data);
}

}  // namespace hearth::examples
