// oneDNN as a peer. Parameters are reordered into the layout that oneDNN asks for before the clock starts; where a
// work can be expressed in more than one way all are timed and the best counts. A convolution reads and writes
// oneDNN's blocked layout, without reorders; Winograd is left out: it computes something else.
#include <omp.h>

#include <deque>
#include <dnnl.hpp>
#include <unordered_map>

#include "tests/bench/compare/bench.h"

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::primitive_attr;
using dnnl::prop_kind;
using hearth::compare::Array;
using hearth::compare::Variants;
using Dims = memory::dims;
using Desc = memory::desc;
using Tag = memory::format_tag;

Desc floats(const Dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

// Engine, stream and the memory of everything that a work touches; lives until the program ends.
struct Place {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::deque<Array> arrays;

  memory fresh(const Desc& desc) {
    arrays.emplace_back((desc.get_size() + 3) / sizeof(float));
    return {desc, engine, arrays.back().data()};
  }
  // A parameter with values, in the layout `wanted`.
  memory parameter(const Dims& dims, Tag plain, const Desc& wanted) {
    memory from = fresh(floats(dims, plain));
    if (from.get_desc() == wanted) return from;
    memory to = fresh(wanted);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return to;
  }
  std::function<void()> runner(std::vector<Step> steps) {
    return [this, steps = std::move(steps)] {
      for (const Step& step : steps) step.primitive.execute(stream, step.arguments);
      stream.wait();
    };
  }
};

Place& place() {
  static Place* const instance = new Place;
  return *instance;
}

primitive_attr with_relu(bool relu) {
  primitive_attr attributes;
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0F, algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  return attributes;
}

Step matmul_step(memory a, const Dims& b_dims, Tag b_layout, bool bias, bool relu) {
  const Desc a_desc = a.get_desc();
  const memory::dim m = a_desc.dims()[0];
  const memory::dim n = b_dims[1];
  const Desc c_desc = floats({m, n}, Tag::ab);
  const Desc b_desc = floats(b_dims, b_layout);
  const dnnl::matmul::desc desc = bias ? dnnl::matmul::desc(a_desc, b_desc, floats({1, n}, Tag::ab), c_desc)
                                       : dnnl::matmul::desc(a_desc, b_desc, c_desc);
  const dnnl::matmul::primitive_desc chosen(desc, with_relu(relu), place().engine);
  Step step{dnnl::matmul(chosen),
            {{DNNL_ARG_SRC, a},
             {DNNL_ARG_WEIGHTS, place().parameter(b_dims, Tag::ab, chosen.weights_desc())},
             {DNNL_ARG_DST, place().fresh(c_desc)}}};
  if (bias) step.arguments.emplace(DNNL_ARG_BIAS, place().fresh(chosen.bias_desc()));
  return step;
}

Step inner_product_step(memory a, memory::dim n, bool bias, bool relu) {
  const Desc a_desc = a.get_desc();
  const memory::dim m = a_desc.dims()[0];
  const memory::dim k = a_desc.dims()[1];
  const Desc c_desc = floats({m, n}, Tag::ab);
  const Desc b_desc = floats({n, k}, Tag::any);
  using Inner = dnnl::inner_product_forward;
  const Inner::desc desc = bias ? Inner::desc(prop_kind::forward_inference, a_desc, b_desc, floats({n}, Tag::a), c_desc)
                                : Inner::desc(prop_kind::forward_inference, a_desc, b_desc, c_desc);
  const Inner::primitive_desc chosen(desc, with_relu(relu), place().engine);
  Step step{Inner(chosen),
            {{DNNL_ARG_SRC, a},
             {DNNL_ARG_WEIGHTS, place().parameter({n, k}, Tag::ab, chosen.weights_desc())},
             {DNNL_ARG_DST, place().fresh(c_desc)}}};
  if (bias) step.arguments.emplace(DNNL_ARG_BIAS, place().fresh(chosen.bias_desc()));
  return step;
}

Variants product(memory::dim m, memory::dim k, memory::dim n, bool parameter) {
  const memory a = place().fresh(floats({m, k}, Tag::ab));
  Variants variants = {{"matmul, plain weights", place().runner({matmul_step(a, {k, n}, Tag::ab, false, false)})}};
  if (parameter) {
    variants.push_back({"matmul, blocked weights", place().runner({matmul_step(a, {k, n}, Tag::any, false, false)})});
    variants.push_back({"inner product, blocked weights", place().runner({inner_product_step(a, n, false, false)})});
  }
  return variants;
}

Variants mlp(memory::dim batch) {
  const Dims widths = {784, 512, 512, 10};
  std::vector<Step> products;
  std::vector<Step> inner;
  const memory x = place().fresh(floats({batch, widths[0]}, Tag::ab));
  memory from = x;
  memory inner_from = x;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const bool relu = i + 1 < widths.size();
    products.push_back(matmul_step(from, {widths[i - 1], widths[i]}, Tag::any, true, relu));
    from = products.back().arguments.at(DNNL_ARG_DST);
    inner.push_back(inner_product_step(inner_from, widths[i], true, relu));
    inner_from = inner.back().arguments.at(DNNL_ARG_DST);
  }
  return {{"matmul, blocked weights", place().runner(products)},
          {"inner product, blocked weights", place().runner(inner)}};
}

// relu(a·b+c)·d+e as one binary primitive with four operations after it.
Variants chain5(memory::dim count) {
  const Desc desc = floats({count}, Tag::a);
  dnnl::post_ops after;
  after.append_binary(algorithm::binary_add, desc);
  after.append_eltwise(1.0F, algorithm::eltwise_relu, 0.0F, 0.0F);
  after.append_binary(algorithm::binary_mul, desc);
  after.append_binary(algorithm::binary_add, desc);
  primitive_attr attributes;
  attributes.set_post_ops(after);
  const dnnl::binary::primitive_desc chosen(dnnl::binary::desc(algorithm::binary_mul, desc, desc, desc), attributes,
                                            place().engine);
  return {{"binary with post-ops",
           place().runner({{dnnl::binary(chosen),
                            {{DNNL_ARG_SRC_0, place().fresh(desc)},
                             {DNNL_ARG_SRC_1, place().fresh(desc)},
                             {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, place().fresh(desc)},
                             {DNNL_ARG_ATTR_MULTIPLE_POST_OP(2) | DNNL_ARG_SRC_1, place().fresh(desc)},
                             {DNNL_ARG_ATTR_MULTIPLE_POST_OP(3) | DNNL_ARG_SRC_1, place().fresh(desc)},
                             {DNNL_ARG_DST, place().fresh(desc)}}}})}};
}

Step softmax_step(memory from, int axis) {
  const dnnl::softmax_forward::primitive_desc chosen(
      dnnl::softmax_forward::desc(prop_kind::forward_inference, from.get_desc(), axis), place().engine);
  return {dnnl::softmax_forward(chosen), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, place().fresh(chosen.dst_desc())}}};
}

Variants layernorm(memory::dim rows, memory::dim columns) {
  using Norm = dnnl::layer_normalization_forward;
  const Desc desc = floats({rows, columns}, Tag::ab);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const Norm::primitive_desc chosen(Norm::desc(prop_kind::forward_inference, desc, 1e-5F, flags), place().engine);
  return {{"layer normalization", place().runner({{Norm(chosen),
                                                   {{DNNL_ARG_SRC, place().fresh(desc)},
                                                    {DNNL_ARG_SCALE, place().fresh(floats({columns}, Tag::a))},
                                                    {DNNL_ARG_SHIFT, place().fresh(floats({columns}, Tag::a))},
                                                    {DNNL_ARG_DST, place().fresh(desc)}}}})}};
}

Step sum_step(memory from, const Dims& to) {
  const Tag tag = to.size() == 1 ? Tag::a : Tag::ab;
  const dnnl::reduction::primitive_desc chosen(
      dnnl::reduction::desc(algorithm::reduction_sum, from.get_desc(), floats(to, tag), 0.0F, 0.0F), place().engine);
  return {dnnl::reduction(chosen), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, place().fresh(chosen.dst_desc())}}};
}

Variants sum(memory::dim side) {
  const Step rows = sum_step(place().fresh(floats({side, side}, Tag::ab)), {side, 1});
  const Step rest = sum_step(rows.arguments.at(DNNL_ARG_DST), {1, 1});
  return {{"one reduction", place().runner({sum_step(place().fresh(floats({side * side}, Tag::a)), {1})})},
          {"rows, then their sums", place().runner({rows, rest})}};
}

Variants convolution(const Dims& x, const Dims& weights, const Dims& padding, Tag plain) {
  using Conv = dnnl::convolution_forward;
  const bool grouped = weights.size() > x.size();
  Dims y = x;
  y[1] = grouped ? weights[0] * weights[1] : weights[0];
  const Dims strides(padding.size(), 1);
  const Conv::desc desc(prop_kind::forward_inference, algorithm::convolution_direct, floats(x, Tag::any),
                        floats(weights, Tag::any), floats(y, Tag::any), strides, padding, padding);
  const Conv::primitive_desc chosen(desc, place().engine);
  return {{"blocked layouts",
           place().runner({{Conv(chosen),
                            {{DNNL_ARG_SRC, place().fresh(chosen.src_desc())},
                             {DNNL_ARG_WEIGHTS, place().parameter(weights, plain, chosen.weights_desc())},
                             {DNNL_ARG_DST, place().fresh(chosen.dst_desc())}}}})}};
}

Variants attention(memory::dim heads, memory::dim length, memory::dim width) {
  const auto batched = [](const Desc& a, const Desc& b, const Desc& c, float scale) {
    primitive_attr attributes;
    if (scale != 1.0F) attributes.set_output_scales(0, {scale});
    return dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, place().engine));
  };
  const Desc desc = floats({heads, length, width}, Tag::abc);
  const Desc transposed = floats({heads, width, length}, Tag::acb);
  const Desc square = floats({heads, length, length}, Tag::abc);
  const memory scores = place().fresh(square);
  const Step scored{
      batched(desc, transposed, square, 0.125F),
      {{DNNL_ARG_SRC, place().fresh(desc)}, {DNNL_ARG_WEIGHTS, place().fresh(transposed)}, {DNNL_ARG_DST, scores}}};
  const Step soft = softmax_step(scores, 2);
  const Step summed{batched(square, desc, desc, 1.0F),
                    {{DNNL_ARG_SRC, soft.arguments.at(DNNL_ARG_DST)},
                     {DNNL_ARG_WEIGHTS, place().fresh(desc)},
                     {DNNL_ARG_DST, place().fresh(desc)}}};
  return {{"matmul, softmax, matmul", place().runner({scored, soft, summed})}};
}

Variants work(const std::string& name, int threads) {
  omp_set_num_threads(threads);
  const bool parameter = name.find("wconst") != std::string::npos;
  if (const int n = hearth::compare::number_after(name, "matmul_")) return product(n, n, n, parameter);
  if (const int n = hearth::compare::number_after(name, "gemv_")) {
    return parameter ? product(1, n, n, true) : product(n, n, 1, false);
  }
  if (const int n = hearth::compare::number_after(name, "mlp_b")) return mlp(n);
  if (name == "chain5_16M") return chain5(1 << 24);
  if (name == "softmax_4096") {
    return {{"softmax", place().runner({softmax_step(place().fresh(floats({4096, 4096}, Tag::ab)), 1)})}};
  }
  if (name == "layernorm_4096x1024") return layernorm(4096, 1024);
  if (name == "sum_16M") return sum(4096);
  if (name == "conv2d_3x3_64_56") return convolution({1, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, Tag::abcd);
  if (name == "dwconv1d_k31") return convolution({1, 512, 1024}, {512, 1, 1, 31}, {15}, Tag::abcd);
  if (name == "attention") return attention(8, 512, 64);
  return {};
}

}  // namespace

int main(int argc, char** argv) { return hearth::compare::bench_main(argc, argv, work); }
