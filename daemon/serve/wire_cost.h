// Wire cost: how much memory a Protobuf message would take once it is parsed, from its bytes alone: two bytes on the
// wire may become an object of two hundred. What the message does not know counts too. An upper estimate within a
// factor of two of what Protobuf 3.21 allocates; to make it takes next to no memory. Pure functions; thread-safe.
// Errors: INVALID_ARGUMENT for bytes that are no such message, or nested more than kDeepest times.
//   absl::StatusOr<WireCost> cost = wire_cost(bytes, *v1::PrepareRequest::descriptor());
#pragma once
#include <absl/status/statusor.h>
#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::daemon {

struct WireCost {
  static constexpr int kDeepest = 100;  // Protobuf's own limit

  std::uint64_t bytes = 0;
  // The field, e.g. "hearth.v1.Graph.nodes", whose values take most of them, and how many of these there are.
  std::string most;
  std::uint64_t most_values = 0;
};

absl::StatusOr<WireCost> wire_cost(std::string_view bytes, const google::protobuf::Descriptor& message);

}  // namespace hearth::daemon
