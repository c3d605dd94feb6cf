// NarrowWeights: the f32 weights of one import, stored in fewer bits when the caller asks for it
// (ImportOptions.weights) and computed with as f32. bf16 is rounded to nearest, ties to even; NaN and infinities stay
// what they are. int8 is w / scale rounded the same way, in -127 to 127, where scale = largest |w| / 127 of a channel
// of the result. Weights that the form cannot hold stay f32 and are named in the report: bf16 has no finite value as
// large, or int8 none that is not finite. Weights that share bytes (tied ones) are stored once. One import,
// single-threaded. Errors: JitError.
//
//   NarrowWeights narrow(Weights::kInt8);
//   StoredWeight w = narrow.store(value, 1, name);    // [k, n]: w.tensor is f32, w.scale is [n] or empty
//   Tensor y = matmul(x, w.tensor) * w.scale;
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/onnx/value.h"
#include "hearth/onnx.h"

namespace hearth::onnx {

// Smaller tensors are not worth an error: they are no share of what a replay reads.
inline constexpr std::int64_t kMinNarrowElements = 4096;

struct StoredWeight {
  client::Tensor tensor;  // f32, whatever it is stored as
  client::Tensor stored;  // the same elements as they are stored: what has to be rearranged or padded stays narrow
  client::Tensor scale;   // [channels] that the result is to be multiplied by; empty: none
};

// The bits of a bf16; NaN becomes quiet and keeps its sign and upper bits.
std::uint16_t bf16_bits(float value);

// `values` as int8 with a scale for each index along the second of three axes: [outer, channels, inner].
struct Int8Values {
  std::string bytes;
  std::vector<float> scales;
  double error = 0;  // the largest, in parts of the largest |value|
};
Int8Values to_int8(std::span<const float> values, std::int64_t channels, std::int64_t inner);

class NarrowWeights {
 public:
  using MakeName = std::function<std::string(const std::string& base)>;  // one that no other parameter has

  explicit NarrowWeights(Weights form) : form_(form) {}

  // Whether `x`, or what it is a permutation of, is stored narrow where it is a weight.
  bool applies_to(const Value& x) const;
  // `channel_axis` of x has one element for each channel of the result.
  StoredWeight store(const Value& x, std::int64_t channel_axis, const MakeName& make_name);
  // The same for operators that cannot scale their result: what would be int8 is bf16.
  StoredWeight store_unscaled(const Value& x, const MakeName& make_name);
  WeightsReport take_report() { return std::move(report_); }

 private:
  struct Known {
    HostTensor kept;  // its address is the key
    StoredWeight weight;
  };
  using Key = std::tuple<const void*, Ints, Weights, std::int64_t>;

  StoredWeight stored(const Value& x, Weights form, std::int64_t channel_axis, const MakeName& make_name);
  StoredWeight make(const Value& x, Weights form, std::int64_t channel_axis, const MakeName& make_name);
  StoredWeight keep(const Value& x);
  void record(const std::string& name, std::size_t f32_bytes, std::size_t bytes, double error);

  Weights form_;
  std::map<Key, Known> known_;
  WeightsReport report_;
};

}  // namespace hearth::onnx
