// Operators of images, quantisation, signals and normalisation that Debian's test cases (ONNX 1.12) lack or of which
// they lack opsets, on the reference interpreter. The values of Resize and QuantizeLinear are those of ONNX 1.14's
// and 1.5's cases, the others are worked out by hand.
#include <catch2/catch.hpp>
#include <functional>

#include "client/tensor/elements.h"
#include "tests/unit/onnx/model_builder.h"
#include "tests/unit/onnx/oracle.h"

using namespace hearth;
using namespace hearth::onnx;
using Catch::Matchers::Contains;

namespace {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;

Array array(const std::vector<std::int64_t>& shape, const Reals& values) {
  return {DType::kF32, shape, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

struct Row {
  std::string name;
  int opset = 0;
  Array x;
  std::function<void(ModelBuilder&)> build;  // a node that makes y of x
  Array y;
};

void check_image(const Row& row) {
  INFO(row.name);
  ModelBuilder m(row.opset);
  m.input("x", row.x.shape);
  row.build(m);
  m.output("y");
  const auto imported = m.import();
  INFO(error_of(imported));
  REQUIRE(imported.ok());
  const auto results = evaluate(*imported, {{"x", row.x}});
  INFO(results.status().ToString());
  REQUIRE(results.ok());
  CHECK(difference(results->at(0), row.y, {1e-5, 1e-6}) == "");
}

Reals counting(int count) {
  Reals values;
  for (int i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

const Array kSquare = array({1, 1, 4, 4}, counting(16)), kSmall = array({1, 1, 2, 2}, counting(4));

Reals quarters(const Reals& corners, int length, int first) {
  Reals values;
  for (int i = 0; i < length; ++i) {
    for (int j = 0; j < length; ++j) {
      values.push_back(corners[static_cast<std::size_t>((i < first ? 0 : 2) + (j < first ? 0 : 1))]);
    }
  }
  return values;
}

std::function<void(ModelBuilder&)> antialiased(const std::string& mode) {
  return [=](ModelBuilder& m) {
    m.floats("scales", {2}, {0.6F, 0.6F}).node("Resize", {"x", "", "scales"}, {"y"});
    m.attr_text("mode", mode).attr("antialias", 1).attr("axes", Ints{2, 3});
  };
}

std::function<void(ModelBuilder&)> keeping_ratio(const std::string& policy) {
  return [=](ModelBuilder& m) {
    m.ints("sizes", {2}, {7, 8}).node("Resize", {"x", "", "", "sizes"}, {"y"});
    m.attr_text("keep_aspect_ratio_policy", policy).attr("axes", Ints{2, 3});
  };
}

std::function<void(ModelBuilder&)> scaled(const std::string& op, const Reals& scales) {
  return [=](ModelBuilder& m) { m.floats("scales", {4}, scales).node(op, {"x", "scales"}, {"y"}); };
}

void set_reals(ModelBuilder& m, const std::string& name, const Reals& values) {
  ::hearth_onnx::AttributeProto* attribute = m.last().add_attribute();
  attribute->set_name(name);
  attribute->set_type(::hearth_onnx::AttributeProto::FLOATS);
  for (float value : values) attribute->add_floats(value);
}

void set_count(ModelBuilder& m, const std::string& mode) {
  m.ints("tokens", {4}, {1, 1, 2, 9}).node("TfIdfVectorizer", {"tokens"}, {"counts"}).attr_text("mode", mode);
  m.attr("min_gram_length", 1).attr("max_gram_length", 1).attr("max_skip_count", 0).attr("ngram_counts", Ints{0});
  m.attr("ngram_indexes", {2, 0}).attr("pool_int64s", {1, 2});
  set_reals(m, "weights", {0.5F, 3});
  m.node("Mul", {"x", "counts"}, {"y"});
}

}  // namespace

TEST_CASE("Resize of opsets 7 to 18") {
  check_image(
      {"linear antialias", 18, kSquare, antialiased("linear"), array({1, 1, 2, 2}, {2.875F, 4.5F, 9.375F, 11})});
  check_image({"cubic antialias", 18, kSquare, antialiased("cubic"),
               array({1, 1, 2, 2}, {2.5180721F, 4.2858863F, 9.589329F, 11.357142F})});
  check_image(
      {"not larger", 18, kSmall, keeping_ratio("not_larger"), array({1, 1, 7, 7}, quarters({1, 2, 3, 4}, 7, 4))});
  check_image(
      {"not smaller", 18, kSmall, keeping_ratio("not_smaller"), array({1, 1, 8, 8}, quarters({1, 2, 3, 4}, 8, 4))});
  const Array wide = array({1, 1, 2, 4}, counting(8));
  check_image({"opset 10", 10, wide, scaled("Resize", {1, 1, 0.6F, 0.6F}), array({1, 1, 1, 2}, {1, 3})});
  check_image(
      {"both ways", 10, wide, scaled("Resize", {1, 1, 2, 0.5F}), array({1, 1, 4, 2}, {1, 3, 1, 3, 5, 7, 5, 7})});
  const Array doubled = array({1, 1, 4, 4}, quarters({1, 2, 3, 4}, 4, 2));
  check_image({"Upsample-9", 9, kSmall, scaled("Upsample", {1, 1, 2, 2}), doubled});
  const auto attribute = [](ModelBuilder& m) {
    m.node("Upsample", {"x"}, {"y"});
    set_reals(m, "scales", {1, 1, 2, 2});
  };
  check_image({"Upsample-7", 7, kSmall, attribute, doubled});
}

TEST_CASE("f8 values of opset 19") {
  const Array x = array({5}, {0, 1, 2, 100000, 200});
  const auto quantized = [](ModelBuilder& m) {
    m.floats("scale", {}, {2}).node("Cast", {"zero_f32"}, {"zero"}).attr("to", 17);
    m.floats("zero_f32", {}, {0}).node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  };
  check_image({"quantize", 19, x, quantized, {DType::kF8E4M3, {5}, std::string("\x00\x30\x38\x7e\x6c", 5)}});
  const auto there_and_back = [&](ModelBuilder& m) {
    quantized(m);
    m.last().set_output(0, "q");
    m.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  };
  check_image({"dequantize", 19, x, there_and_back, array({5}, {0, 1, 2, 896, 192})});
}

TEST_CASE("blocks, regions, pools and normalisations without cases of their own") {
  const Array row = array({1, 5}, counting(5));
  const auto centred = [](std::int64_t length) {
    return [=](ModelBuilder& m) {
      m.ints("shape", {1}, {length}).node("CenterCropPad", {"x", "shape"}, {"y"}).attr("axes", Ints{1});
    };
  };
  check_image({"crop", 18, row, centred(3), array({1, 3}, {2, 3, 4})});
  check_image({"pad", 18, row, centred(8), array({1, 8}, {0, 1, 2, 3, 4, 5, 0, 0})});
  const auto col2im = [](ModelBuilder& m) {
    m.ints("image", {2}, {1, 3}).ints("block", {2}, {1, 2}).node("Col2Im", {"x", "image", "block"}, {"y"});
  };
  check_image({"Col2Im", 18, array({1, 2, 2}, {1, 2, 3, 4}), col2im, array({1, 1, 1, 3}, {1, 5, 4})});
  const auto regions = [](ModelBuilder& m) {
    m.floats("rois", {1, 5}, {0, 0, 0, 6, 6}).node("MaxRoiPool", {"x", "rois"}, {"y"}).attr("pooled_shape", {2, 2});
    m.attr_real("spatial_scale", 0.5F);
  };
  check_image({"MaxRoiPool", 1, kSquare, regions, array({1, 1, 2, 2}, {6, 8, 14, 16})});
  const Array line = array({1, 1, 4}, {3, -4, 0, 5});
  const auto lp_pool = [](ModelBuilder& m) {
    m.node("LpPool", {"x"}, {"y"}).attr("kernel_shape", Ints{2}).attr("strides", Ints{2});
  };
  check_image({"LpPool", 18, line, lp_pool, array({1, 1, 2}, {5, 5})});
  const auto global = [](ModelBuilder& m) { m.node("GlobalLpPool", {"x"}, {"y"}).attr("p", 1); };
  check_image({"GlobalLpPool", 2, line, global, array({1, 1, 1}, {12})});
  const auto groups = [](ModelBuilder& m) {
    m.floats("s", {2}, {2, 3}).floats("b", {2}, {10, 20}).node("GroupNormalization", {"x", "s", "b"}, {"y"});
    m.attr("num_groups", 2).attr_real("epsilon", 0);
  };
  // Four channels of one element: [1, 3] and [5, 9] are the groups.
  check_image({"GroupNormalization", 18, array({1, 4, 1}, {1, 3, 5, 9}), groups, array({1, 4, 1}, {8, 12, 17, 23})});
  const auto lp_norm = [](ModelBuilder& m) { m.node("LpNormalization", {"x"}, {"y"}).attr("p", 1); };
  check_image({"LpNormalization", 1, array({2, 2}, {1, -3, 0, 0}), lp_norm, array({2, 2}, {0.25F, -0.75F, 0, 0})});
}

TEST_CASE("DeformConv: windows moved to the right by one half") {
  const auto moved = [](ModelBuilder& m) {
    m.floats("w", {1, 1, 1, 2}, {1, 10}).floats("offset", {1, 4, 1, 3}, {0, 0, 0, 0.5F, 0.5F, 0.5F, 0, 0, 0, 0, 0, 0});
    m.floats("b", {1}, {100}).node("DeformConv", {"x", "w", "offset", "b"}, {"y"}).attr("kernel_shape", Ints{1, 2});
  };
  // (1 + 2) / 2 + 10 * 2 and so on.
  check_image(
      {"DeformConv", 19, array({1, 1, 1, 4}, counting(4)), moved, array({1, 1, 1, 3}, {121.5F, 132.5F, 143.5F})});
}

TEST_CASE("weights of n-grams") {
  const Array ones = array({3}, {1, 1, 1});
  check_image({"TFIDF", 9, ones, [](ModelBuilder& m) { set_count(m, "TFIDF"); }, array({3}, {3, 0, 1})});
  check_image({"IDF", 9, ones, [](ModelBuilder& m) { set_count(m, "IDF"); }, array({3}, {3, 0, 0.5F})});
  check_image({"TF", 9, ones, [](ModelBuilder& m) { set_count(m, "TF"); }, array({3}, {1, 0, 2})});
}

TEST_CASE("what these operators cannot do is refused by name") {
  const auto refusal = [](const std::string& op, const std::vector<std::string>& inputs, int opset,
                          const std::function<void(ModelBuilder&)>& attributes) {
    ModelBuilder m(opset);
    m.input("x", {1, 1, 4, 4}).input("rois", {3, 4}).ints("batch", {3}, {0, 0, 0});
    m.node(op, inputs, {"y"});
    attributes(m);
    m.output("y");
    const auto imported = m.import();
    CHECK(imported.status().code() == absl::StatusCode::kUnimplemented);
    return error_of(imported);
  };
  const std::vector<std::string> rois = {"x", "rois", "batch"};
  CHECK_THAT(refusal("RoiAlign", rois, 16, [](ModelBuilder&) {}), Contains("sampling_ratio 0"));
  CHECK_THAT(refusal("RoiAlign", rois, 16, [](ModelBuilder& m) { m.attr_text("mode", "max"); }),
             Contains("mode 'max'"));
  CHECK_THAT(refusal("Resize", {"x"}, 11, [](ModelBuilder& m) { m.attr_text("mode", "area"); }),
             Contains("mode 'area'"));
  CHECK_THAT(refusal("GridSample", {"x", "x"}, 16, [](ModelBuilder& m) { m.attr_text("mode", "area"); }),
             Contains("mode 'area'"));
}
