// What requests would take in memory, judged by what Protobuf says of them when they are parsed.
#include "daemon/serve/wire_cost.h"

#include <google/protobuf/stubs/logging.h>

#include <catch2/catch.hpp>
#include <random>

#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {
namespace {

absl::StatusOr<WireCost> cost_of(const std::string& bytes, const google::protobuf::Descriptor& type) {
  return wire_cost(bytes, type);
}

std::string length_delimited(int field, const std::string& bytes) {
  std::string out(1, static_cast<char>(field << 3 | 2));
  for (std::size_t length = bytes.size();; length >>= 7) {
    out += static_cast<char>(length < 128 ? length : (length & 127) | 128);
    if (length < 128) break;
  }
  return out + bytes;
}

std::string repeat(const std::string& unit, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += unit;
  return out;
}

void check_against_parse(const std::string& bytes) {
  v1::PrepareRequest request;
  REQUIRE(request.ParseFromString(bytes));
  const absl::StatusOr<WireCost> cost = cost_of(bytes, *v1::PrepareRequest::descriptor());
  REQUIRE(cost.ok());
  // SpaceUsedLong() knows nothing of malloc's own words.
  CHECK(static_cast<double>(cost->bytes) >= 0.95 * static_cast<double>(request.SpaceUsedLong()));
  CHECK(static_cast<double>(cost->bytes) <= 3.0 * static_cast<double>(request.SpaceUsedLong()));
}

TEST_CASE("wire cost: many small values are counted as what they become, and named") {
  const std::string empty_nodes = length_delimited(2, repeat(std::string("\x1a\0", 2), 100'000));
  const absl::StatusOr<WireCost> cost = cost_of(empty_nodes, *v1::PrepareRequest::descriptor());
  REQUIRE(cost.ok());
  CHECK(cost->most == "hearth.v1.Graph.nodes");
  CHECK(cost->most_values == 100'000);
  CHECK(cost->bytes > 50 * empty_nodes.size());
  check_against_parse(empty_nodes);
}

TEST_CASE("wire cost: within a factor of what Protobuf takes, for values of every kind") {
  check_against_parse("");
  v1::PrepareRequest request;
  v1::Graph& graph = *request.mutable_graph();
  std::mt19937 random(7);
  for (int i = 0; i < 3'000; ++i) {
    v1::Node& node = *graph.add_nodes();
    node.set_name(std::string(random() % 40, 'n'));
    node.set_data(std::string(random() % 200, 'd'));
    for (unsigned k = random() % 5; k > 0; --k) node.add_inputs(random() % 1000);
    for (unsigned k = random() % 5; k > 0; --k) node.add_axes(random() % 8);
    for (unsigned k = random() % 3; k > 0; --k)
      for (unsigned t = 0; t < 3; ++t) node.mutable_args()->Add()->add_tokens()->set_value(random());
  }
  for (int i = 0; i < 2'000; ++i)
    request.mutable_target()->add_features(i % 2 == 0 ? "" : "a feature with a long name");
  check_against_parse(request.SerializeAsString());
}

TEST_CASE("wire cost: packed arrays and fields that nobody knows count") {
  const std::string packed = length_delimited(2, length_delimited(3, length_delimited(4, std::string(500'000, '\1'))));
  const auto cost = cost_of(packed, *v1::PrepareRequest::descriptor());
  REQUIRE(cost.ok());
  CHECK(cost->bytes >= 2 * packed.size());
  const std::string unknown = repeat(std::string("\xf8\x7f\x01", 3), 200'000);  // a varint of field 2,047
  const auto of_unknown = cost_of(unknown, *v1::FetchArtifactRequest::descriptor());
  REQUIRE(of_unknown.ok());
  v1::FetchArtifactRequest parsed;
  REQUIRE(parsed.ParseFromString(unknown));
  CHECK(of_unknown->bytes >= parsed.SpaceUsedLong());
}

TEST_CASE("wire cost: what is no such message is refused: cut, lying about lengths, nested without end") {
  v1::PrepareRequest request;
  request.mutable_graph()->add_nodes()->set_name("a node of some name");
  const std::string whole = request.SerializeAsString();
  const auto& type = *v1::PrepareRequest::descriptor();
  CHECK(cost_of(whole, type).ok());
  for (std::size_t size = 1; size < whole.size(); ++size)
    CHECK(absl::IsInvalidArgument(cost_of(whole.substr(0, size), type).status()));
  CHECK_FALSE(cost_of(std::string("\x12\xff\xff\xff\xff\x0f", 6), type).ok());
  CHECK_FALSE(cost_of(std::string("\0\0", 2), type).ok());
  CHECK_FALSE(cost_of(std::string("\x0b\x0c", 2), type).ok());  // groups
  std::string deep;
  for (int i = 0; i < 400; ++i)
    deep = length_delimited(6, length_delimited(1, deep));  // a loop's body in a loop's body
  CHECK_FALSE(cost_of(length_delimited(2, deep), type).ok());
  const google::protobuf::LogSilencer silence;
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {  // whatever Protobuf reads is measured, and nothing else
    std::string bytes = whole;
    for (unsigned k = random() % 3 + 1; k > 0; --k) bytes[random() % bytes.size()] = static_cast<char>(random());
    v1::PrepareRequest parsed;
    if (parsed.ParseFromString(bytes)) CHECK(cost_of(bytes, type).ok());
  }
}

}  // namespace
}  // namespace hearth::daemon
