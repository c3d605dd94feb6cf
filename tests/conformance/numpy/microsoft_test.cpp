#include <catch2/catch.hpp>

#include "client/onnx/graph_importer.h"
#include "client/onnx/model_file.h"
#include "tests/conformance/numpy/op_cases.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::OpCase;
using hearth::conformance::numpy::Tensors;
using hearth::onnx::GraphImporter;
using hearth::onnx::ModelBuilder;
using hearth::onnx::ModelFile;
using hearth::onnx::Value;

namespace {

using Names = std::vector<std::string>;

// One node; its inputs are named in0, in1, …, its outputs out0, …; "" leaves one out.
OpCase node(const std::string& name, const std::string& op, const Names& inputs, const Names& outputs = {"out0"},
            const std::function<void(ModelBuilder&)>& attributes = {}) {
  const auto record = [=](const Tensors& in) {
    ModelBuilder m(17);
    auto* domain = m.proto().add_opset_import();
    domain->set_domain("com.microsoft");
    domain->set_version(1);
    m.node(op, inputs, outputs);
    m.last().set_domain("com.microsoft");
    if (attributes) attributes(m);
    for (const std::string& output : outputs) {
      if (!output.empty()) m.output(output);
    }
    GraphImporter importer(std::make_shared<const ModelFile>(m.proto(), name, nullptr));
    for (std::size_t i = 0; i < in.size(); ++i) importer.bind("in" + std::to_string(i), Value(in[i]));
    Tensors results;
    for (const Value& value : importer.run(m.proto().graph())) results.push_back(value.tensor());
    return results;
  };
  return {name, record, 1e-5, 1e-6};
}

}  // namespace

namespace {

OpCase grouped(const std::string& name, const Names& inputs, const Names& outputs) {
  return node("group_query_attention_" + name, "GroupQueryAttention", inputs, outputs,
              [](ModelBuilder& m) { m.attr("num_heads", 4).attr("kv_num_heads", 2).attr("do_rotary", 1); });
}

OpCase bits_of(std::int64_t bits, std::int64_t block, std::int64_t deep, std::int64_t columns,
               const std::string& kind) {
  const std::string name = "matmul_nbits_" + std::to_string(bits) + "_" + std::to_string(block) + "_" + kind;
  Names inputs = {"in0", "in1", "in2"};
  if (kind != "none") inputs.push_back("in3");
  return node(name, "MatMulNBits", inputs, {"out0"}, [=](ModelBuilder& m) {
    m.attr("bits", bits).attr("block_size", block).attr("K", deep).attr("N", columns);
  });
}

}  // namespace

TEST_CASE("operators of com.microsoft give numpy's results") {
  check_family(
      "microsoft",
      {
          node("gelu", "Gelu", {"in0"}),
          node("bias_gelu", "BiasGelu", {"in0", "in1"}),
          node("fast_gelu", "FastGelu", {"in0", "in1"}),
          node("quick_gelu", "QuickGelu", {"in0"}, {"out0"}, [](ModelBuilder& m) { m.attr_real("alpha", 1.5F); }),
          node("skip_layer_norm", "SkipLayerNormalization", {"in0", "in1", "in2", "in3", "in4"},
               {"out0", "", "", "out1"}),
          node("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", {"in0", "in1", "in2", "in3"},
               {"out0", "", "", "out1"}, [](ModelBuilder& m) { m.attr_real("epsilon", 1e-5F); }),
          node("simplified_layer_norm", "SimplifiedLayerNormalization", {"in0", "in1"}),
          node("embed_layer_norm", "EmbedLayerNormalization", {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"},
               {"out0", "out1", "out2"}),
          node("fused_matmul", "FusedMatMul", {"in0", "in1"}, {"out0"},
               [](ModelBuilder& m) { m.attr("transA", 1).attr("transB", 1).attr_real("alpha", 0.5F); }),
          node("rotary_embedding", "RotaryEmbedding", {"in0", "in1", "in2", "in3"}),
          node("rotary_embedding_interleaved", "RotaryEmbedding", {"in0", "in1", "in2", "in3"}, {"out0"},
               [](ModelBuilder& m) { m.attr("interleaved", 1); }),
          node("attention_causal", "Attention", {"in0", "in1", "in2"}, {"out0"},
               [](ModelBuilder& m) {
                 m.attr("num_heads", 2).attr("unidirectional", 1);
                 m.attr("qkv_hidden_sizes", {4, 4, 6});
               }),
          node("attention_mask", "Attention", {"in0", "in1", "in2", "in3"}, {"out0"},
               [](ModelBuilder& m) { m.attr("num_heads", 2).attr("qkv_hidden_sizes", {4, 4, 6}); }),
          node("attention_lengths", "Attention", {"in0", "in1", "in2", "in3"}, {"out0"},
               [](ModelBuilder& m) { m.attr("num_heads", 2).attr("qkv_hidden_sizes", {4, 4, 6}); }),
          node("attention_past", "Attention", {"in0", "in1", "in2", "", "in3"}, {"out0", "out1"},
               [](ModelBuilder& m) { m.attr("num_heads", 2).attr("unidirectional", 1); }),
          node("multi_head_attention", "MultiHeadAttention", {"in0", "in1", "in2", "in3", "in4", "in5"}, {"out0"},
               [](ModelBuilder& m) { m.attr("num_heads", 2).attr_real("mask_filter_value", -1000); }),
          node("group_query_attention", "GroupQueryAttention",
               {"in0", "in1", "in2", "", "", "in3", "in4", "in5", "in6"}, {"out0", "out1", "out2"},
               [](ModelBuilder& m) { m.attr("num_heads", 4).attr("kv_num_heads", 2).attr("do_rotary", 1); }),
          grouped("follows", {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "in8"}, {"out0", "", ""}),
          grouped("packed", {"in0", "", "", "in1", "in2", "in3", "in4", "in5", "in6"}, {"out0", "out1", "out2"}),
          grouped("ragged", {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "in8"}, {"out0", "", ""}),
          bits_of(4, 16, 40, 5, "none"),
          bits_of(4, 32, 64, 3, "packed"),
          bits_of(4, 16, 48, 4, "packed"),
          bits_of(8, 16, 32, 3, "float"),
          bits_of(2, 16, 32, 3, "packed"),
      });
}
