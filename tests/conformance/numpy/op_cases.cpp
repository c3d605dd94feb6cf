#include "tests/conformance/numpy/op_cases.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "client/trace/encoded_graph.h"
#include "hearth/npy.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/fresh_seed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/skip.h"

namespace hearth::conformance::numpy {
namespace {

namespace fs = std::filesystem;

std::vector<client::Array> arrays(const fs::path& folder, const std::string& prefix) {
  std::vector<client::Array> found;
  for (int i = 0; fs::exists(folder / (prefix + std::to_string(i) + ".npy")); ++i) {
    absl::StatusOr<client::Array> array = client::read_npy((folder / (prefix + std::to_string(i) + ".npy")).string());
    INFO(folder << ": " << array.status().message());
    REQUIRE(array.ok());
    found.push_back(*std::move(array));
  }
  return found;
}

HostTensor host(const client::Array& array) {
  HostTensor tensor;
  tensor.dtype = static_cast<ir::Scalar>(array.dtype);
  tensor.shape = array.shape;
  tensor.bytes.assign(array.bytes.begin(), array.bytes.end());
  return tensor;
}

void check_case(const fs::path& folder, const OpCase& op) {
  INFO("case " << folder.string());
  const std::vector<client::Array> given = arrays(folder, "in");
  const std::vector<client::Array> expected = arrays(folder, "out");
  REQUIRE(!expected.empty());
  Feed feed;
  Tensors inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    inputs.push_back(
        client::input("in" + std::to_string(i), {given[i].shape.begin(), given[i].shape.end()}, given[i].dtype));
  }
  client::NamedTensors outputs;
  for (const client::Tensor& y : op.record(inputs)) outputs.emplace_back("out" + std::to_string(outputs.size()), y);
  REQUIRE(outputs.size() == expected.size());
  const auto traced = client::encode_graph(outputs);
  INFO(traced.status().message());
  REQUIRE(traced.ok());
  // Inputs in the order of the graph, which holds only those that are read.
  for (const v1::Node& node : traced->graph.nodes()) {
    if (node.op() == v1::INPUT) feed.inputs.push_back(host(given.at(std::stoul(node.name().substr(2)))));
    REQUIRE(node.op() != v1::PARAMETER);
  }
  std::vector<conformance::HostTensor> want;
  for (const client::Array& array : expected) want.push_back(host(array));
  Program program(traced->graph);
  const auto got = program.run_reference(feed);
  INFO(got.status().message());
  REQUIRE(got.ok());
  const Tolerances tolerances = {{op.relative, op.absolute}};
  Tolerances against_numpy = tolerances_of(traced->graph, tolerances);
  for (Tolerance& tolerance : against_numpy) tolerance.any_zero_sign |= op.any_zero_sign != nullptr;
  CHECK(difference(*got, want, against_numpy) == "");
  CHECK(program.disagreement(feed, tolerances) == "");
}

}  // namespace

void check_family(const std::string& family, const std::vector<OpCase>& cases) {
  const char* root = std::getenv("HEARTH_NUMPY_CASES");
  REQUIRE(root != nullptr);
  std::set<std::string> written;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / family)) written.insert(entry.path().filename());
  // Kernels have no sanitizer, and compiling them is most of the time: of a sanitizer's build, a part.
  const std::uint64_t kept = test::kSanitizer ? 4 : 1, first = test::kSanitizer ? test::fresh_seed() % kept : 0;
  std::uint64_t number = 0;
  if (kept > 1 && cases.size() > 1) test::skip_part("of a sanitizer's build every fourth case runs");
  for (const OpCase& op : cases) {
    INFO(family << ": " << op.name);
    REQUIRE(written.erase(op.name) == 1);
    if (number++ % kept != first && cases.size() > 1) continue;
    check_case(fs::path(root) / family / op.name, op);
  }
  for (const std::string& name : written) FAIL_CHECK(family << ": case " << name << " has no row");
}

}  // namespace hearth::conformance::numpy
