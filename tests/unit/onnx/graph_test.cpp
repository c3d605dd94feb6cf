// Result shapes and types of recorded operators.
#include <catch2/catch.hpp>

#include "client/trace/encoded_graph.h"
#include "hearth/v1/graph.pb.h"
#include "tests/unit/onnx/model_builder.h"

using namespace hearth;
using namespace hearth::onnx;
using Ints64 = std::vector<std::int64_t>;

namespace {

struct Case {
  std::string op;
  std::vector<Ints64> inputs;
  Ints64 result;
  std::vector<std::pair<std::string, Ints64>> lists = {};
  std::vector<std::pair<std::string, std::int64_t>> numbers = {};
  int opset = 17;
};

}  // namespace

TEST_CASE("recorded operators infer the shapes ONNX says") {
  const std::vector<Case> cases = {
      {"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}, {4}}, {1, 4, 8, 8}, {{"pads", {1, 1, 1, 1}}, {"kernel_shape", {3, 3}}}},
      {"Conv", {{1, 4, 9}, {8, 2, 3}}, {1, 8, 4}, {{"strides", {2}}}, {{"group", 2}}},
      {"ConvTranspose", {{1, 3, 4, 4}, {3, 5, 2, 2}}, {1, 5, 8, 8}, {{"strides", {2, 2}}}},
      {"MaxPool", {{1, 3, 8, 8}}, {1, 3, 4, 4}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}},
      {"AveragePool", {{1, 3, 9}}, {1, 3, 3}, {{"kernel_shape", {3}}, {"strides", {3}}}},
      {"GlobalAveragePool", {{2, 3, 5, 5}}, {2, 3, 1, 1}},
      {"Gemm", {{2, 3}, {4, 3}, {4}}, {2, 4}, {}, {{"transB", 1}}},
      {"Gemm", {{3, 2}, {3, 4}}, {2, 4}, {}, {{"transA", 1}}},
      {"MatMul", {{5, 2, 3}, {3, 4}}, {5, 2, 4}},
      {"MatMul", {{4, 3}, {3}}, {4}},
      {"Add", {{2, 1, 3}, {4, 1}}, {2, 4, 3}},
      {"Softmax", {{2, 5}}, {2, 5}, {}, {{"axis", 1}}},
      {"LogSoftmax", {{2, 5}}, {2, 5}},
      {"Flatten", {{2, 3, 4}}, {6, 4}, {}, {{"axis", 2}}},
      {"Transpose", {{2, 3, 4}}, {4, 2, 3}, {{"perm", {2, 0, 1}}}},
      {"ReduceMean", {{2, 3, 4}}, {2, 1, 4}, {{"axes", {1}}}},
      {"ReduceMax", {{2, 3, 4}}, {2, 4}, {{"axes", {-2}}}, {{"keepdims", 0}}},
      {"ReduceSum", {{2, 3}}, {1, 1}},
      {"ReduceL2", {{2, 3}}, {2, 1}, {{"axes", {1}}}},
      {"LayerNormalization", {{2, 3, 4}, {4}, {4}}, {2, 3, 4}},
      {"BatchNormalization", {{2, 3, 4}, {3}, {3}, {3}, {3}}, {2, 3, 4}},
      {"InstanceNormalization", {{2, 3, 4}, {3}, {3}}, {2, 3, 4}},
      {"LSTM", {{7, 2, 5}, {1, 12, 5}, {1, 12, 3}, {1, 24}}, {7, 1, 2, 3}, {}, {{"hidden_size", 3}}},
      {"GRU", {{4, 2, 5}, {1, 9, 5}, {1, 9, 3}, {1, 18}}, {4, 1, 2, 3}, {}, {{"hidden_size", 3}}},
      {"ArgMax", {{2, 5}}, {2, 1}, {}, {{"axis", 1}}},
      {"DepthToSpace", {{1, 8, 2, 3}}, {1, 2, 4, 6}, {}, {{"blocksize", 2}}},
      {"SpaceToDepth", {{1, 2, 4, 6}}, {1, 8, 2, 3}, {}, {{"blocksize", 2}}},
      {"Erf", {{3}}, {3}},
      {"HardSwish", {{3}}, {3}},
      {"Trilu", {{4, 4}}, {4, 4}},
      {"Concat", {{2, 3}, {2, 4}}, {2, 7}, {}, {{"axis", -1}}},
      {"PRelu", {{2, 3}, {3}}, {2, 3}},
      {"Dropout", {{2, 3}}, {2, 3}},
  };
  for (const Case& c : cases) {
    ModelBuilder m(c.opset);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      names.push_back("in" + std::to_string(i));
      m.input(names.back(), c.inputs[i]);
    }
    m.node(c.op, names, {"y"});
    for (const auto& [name, values] : c.lists) m.attr(name, values);
    for (const auto& [name, value] : c.numbers) m.attr(name, value);
    const auto model = m.output("y").import();
    INFO(c.op << ": " << error_of(model));
    REQUIRE(model.ok());
    CHECK(model->results[0].shape == c.result);
    CHECK(client::encode_graph(model->outputs).ok());
  }
}

TEST_CASE("operators with host operands") {
  ModelBuilder m(17);
  m.input("x", {2, 6})
      .ints("pads", {4}, {0, 2, 0, 2})
      .ints("lengths", {2}, {4, 6})
      .ints("index", {}, {1})
      .node("Pad", {"x", "pads"}, {"p"})
      .attr_text("mode", "reflect")
      .node("Split", {"p", "lengths"}, {"a", "b"})
      .attr("axis", 1)
      .node("Gather", {"b", "index"}, {"y"})
      .attr("axis", 0)
      .output("y")
      .output("a");
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == Ints64{6});
  CHECK(model->results[1].shape == Ints64{2, 4});
  CHECK(count_ops(*model, v1::GATHER) == 0);
}

TEST_CASE("SAME padding and VALID") {
  for (const auto& [mode, length] :
       std::vector<std::pair<std::string, std::int64_t>>{{"SAME_UPPER", 4}, {"SAME_LOWER", 4}, {"VALID", 3}}) {
    ModelBuilder m(13);
    m.input("x", {1, 1, 8}).input("w", {1, 1, 3}).node("Conv", {"x", "w"}, {"y"}).attr("strides", Ints64{2});
    m.attr_text("auto_pad", mode).output("y");
    const auto model = m.import();
    INFO(error_of(model));
    REQUIRE(model.ok());
    CHECK(model->results[0].shape == Ints64{1, 1, length});
  }
}

TEST_CASE("ReduceMean takes axes as input from opset 18 on") {
  ModelBuilder m(18);
  m.input("x", {2, 3}).ints("axes", {1}, {1}).node("ReduceMean", {"x", "axes"}, {"y"}).output("y");
  const auto model = m.import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == Ints64{2, 1});
}

TEST_CASE("a bidirectional LSTM gives both directions and final states") {
  ModelBuilder m(14);
  m.input("x", {4, 2, 5}).input("w", {2, 12, 5}).input("r", {2, 12, 3});
  m.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"}).attr("hidden_size", 3).attr_text("direction", "bidirectional");
  const auto model = m.output("y").output("h").output("c").import();
  INFO(error_of(model));
  REQUIRE(model.ok());
  CHECK(model->results[0].shape == Ints64{4, 2, 2, 3});
  CHECK(model->results[1].shape == Ints64{2, 2, 3});
  CHECK(model->results[2].shape == Ints64{2, 2, 3});
}

TEST_CASE("equal models give equal graphs") {
  const auto encode = [] {
    ModelBuilder m(13);
    m.input("x", {2, 3}).floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}).node("MatMul", {"x", "w"}, {"y"}).output("y");
    return client::encode_graph(m.import()->outputs)->graph.SerializeAsString();
  };
  CHECK(encode() == encode());
}
