// A Conformer block small enough to be compiled for many shapes, behind a strided convolution over time as speech
// encoders have: x [batch, time, 16] -> "out" [batch, (time + 1) / 2, 16]. Weights are seeded and live as long as it.
//
//   SmallConformer model;
//   auto plan = client::prepare(model.trace(Dim::variable("b", 1, 4), Dim::variable("t", 1, 40)), config);
#pragma once
#include <map>
#include <string>
#include <vector>

#include "client/tracer.h"

namespace hearth::integration {

class SmallConformer {
 public:
  static constexpr std::int64_t kWidth = 16, kHeads = 2;
  client::NamedTensors trace(const client::Dim& batch, const client::Dim& time);

 private:
  client::Tensor weight(const std::string& name, client::Shape shape);
  client::Tensor norm(const client::Tensor& x, const std::string& name);
  client::Tensor project(const client::Tensor& x, const std::string& name, std::int64_t width);
  client::Tensor feed_forward(const client::Tensor& x, const std::string& name);
  client::Tensor attend(const client::Tensor& x);
  client::Tensor convolve(const client::Tensor& x);
  std::map<std::string, std::vector<float>> weights_;
};

}  // namespace hearth::integration
