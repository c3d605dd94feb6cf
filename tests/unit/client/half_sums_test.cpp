// Ops that add many numbers, in f16 and bf16: sums of 10 to 100,000 terms of magnitudes from 2^-14 to 60,000 are those
// in f64, rounded once. What is computed in 16 bits on the way overflows, or loses all but a few digits.
#include <catch2/catch.hpp>
#include <functional>

#include "client/tensor/elements.h"
#include "client/trace/encoded_graph.h"
#include "compiler/codegen/reference/wire_interpreter.h"
#include "hearth/ops.h"
#include "tests/support/half_ulps.h"

namespace hearth::client {
namespace {

namespace reference = codegen::reference;

// Seeded, of both signs or of one, and with a mean that is large beside the deviations.
Array numbers(const std::vector<std::int64_t>& shape, double magnitude, double mean, DType half) {
  Array made{DType::kF64, shape, ""};
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  std::uint64_t state = 0x9e3779b97f4a7c15U;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double unit = static_cast<double>(state >> 11) * 0x1p-52 - 1;
    made.bytes += encode_float(test::rounded(magnitude * (mean + unit), half), DType::kF64);
  }
  return made;
}

Array computed(const std::function<Tensor(const std::vector<Tensor>&)>& op, const std::vector<Array>& given,
               DType dtype) {
  std::vector<Tensor> inputs;
  std::map<std::string, reference::HostTensor> bindings;
  for (const Array& array : given) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(input(name, {array.shape.begin(), array.shape.end()}, dtype));
    reference::HostTensor& bound = bindings[name];
    bound = reference::HostTensor(static_cast<ir::Scalar>(dtype), array.shape);
    for (std::int64_t i = 0; i < bound.num_elements(); ++i) {
      const double value =
          decode_float(std::string_view(array.bytes).substr(static_cast<std::size_t>(i) * 8, 8), DType::kF64);
      bound.set(i, reference::Element::of_float(value));
    }
  }
  const auto traced = encode_graph({{"y", op(inputs)}});
  REQUIRE(traced.ok());
  const auto results = reference::interpret_wire(traced->graph, bindings, {});
  INFO(results.status().ToString());
  REQUIRE(results.ok());
  const reference::HostTensor& y = results->at(0);
  return {static_cast<DType>(y.dtype), y.shape, {y.bytes.begin(), y.bytes.end()}};
}

struct Row {
  const char* name;
  std::function<Tensor(const std::vector<Tensor>&)> op;
  std::function<std::vector<std::vector<std::int64_t>>(std::int64_t)> shapes;
};

using Tensors = std::vector<Tensor>;

std::vector<Row> rows() {
  const auto row = [](std::int64_t n) { return std::vector<std::vector<std::int64_t>>{{2, n}}; };
  const auto image = [](std::int64_t n) { return std::vector<std::vector<std::int64_t>>{{1, 2, n / 5, 5}}; };
  const auto product = [](std::int64_t n) { return std::vector<std::vector<std::int64_t>>{{2, n}, {n, 3}}; };
  return {
      {"reduce_sum", [](const Tensors& in) { return reduce_sum(in[0], {1}); }, row},
      {"mean", [](const Tensors& in) { return mean(in[0], {1}); }, row},
      {"variance", [](const Tensors& in) { return variance(in[0], {1}); }, row},
      {"std_deviation", [](const Tensors& in) { return std_deviation(in[0], {1}); }, row},
      {"l1 norm", [](const Tensors& in) { return lp_norm(in[0], 1, {1}); }, row},
      {"l2 norm", [](const Tensors& in) { return lp_norm(in[0], 2, {1}); }, row},
      {"logsumexp", [](const Tensors& in) { return logsumexp(in[0], {1}); }, row},
      {"softmax", [](const Tensors& in) { return softmax(in[0], 1); }, row},
      {"log_softmax", [](const Tensors& in) { return log_softmax(in[0], 1); }, row},
      {"softmin", [](const Tensors& in) { return softmin(in[0], 1); }, row},
      {"layer_norm", [](const Tensors& in) { return layer_norm(in[0], {}, {}); }, row},
      {"rms_norm", [](const Tensors& in) { return rms_norm(in[0], {}); }, row},
      {"lp_normalize", [](const Tensors& in) { return lp_normalize(in[0], 1, 2); }, row},
      {"mean_variance_norm", [](const Tensors& in) { return mean_variance_norm(in[0], {1}); }, row},
      {"instance_norm", [](const Tensors& in) { return instance_norm(in[0], {}, {}); }, image},
      {"group_norm", [](const Tensors& in) { return group_norm(in[0], 1, {}, {}); }, image},
      {"global_avg_pool", [](const Tensors& in) { return global_avg_pool(in[0]); }, image},
      {"global_lp_pool", [](const Tensors& in) { return global_lp_pool(in[0], 2); }, image},
      {"avg_pool", [](const Tensors& in) { return avg_pool(in[0], {.kernel = {in[0].dim(2).value(), 5}}); }, image},
      {"conv", [](const Tensors& in) { return conv(in[0], in[1]); },
       [](std::int64_t n) { return std::vector<std::vector<std::int64_t>>{{1, n / 5, 5}, {2, n / 5, 5}}; }},
      {"matmul", [](const Tensors& in) { return matmul(in[0], in[1]); }, product},
      {"einsum", [](const Tensors& in) { return einsum("ik,kj->ij", {in[0], in[1]}); }, product},
  };
}

TEST_CASE("sums of up to 100,000 terms in half precision are those in f64, rounded once") {
  for (const Row& row : rows()) {
    for (const std::int64_t terms : {10, 1000, 100'000}) {
      for (const double magnitude : {0x1p-14, 1.0, 400.0, 30'000.0}) {
        if (terms == 100'000 && magnitude < 400) continue;  // nothing new, and most of the time
        for (const double mean : {0.0, 1.0}) {
          for (const DType half : {DType::kF16, DType::kBF16}) {
            std::vector<Array> inputs;
            for (const auto& shape : row.shapes(terms)) inputs.push_back(numbers(shape, magnitude, mean, half));
            INFO(row.name << " of " << terms << " terms around " << mean * magnitude << " +- " << magnitude << " in "
                          << dtype_name(half));
            const Array got = computed(row.op, inputs, half), want = computed(row.op, inputs, DType::kF64);
            REQUIRE(got.dtype == half);
            CHECK(test::most_ulps_apart(got, want) <= 2);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth::client
