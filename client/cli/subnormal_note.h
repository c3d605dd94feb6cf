// What `hearth explain` says of weights with subnormal values, with which CPUs are slow: how many, in which tensors, and
// what is done about them. Errors: bytes of a model's file that are gone.
//
//   HEARTH_ASSIGN_OR_RETURN(const std::string note, subnormal_note(model.traced, config));
#pragma once
#include <string>

#include "absl/status/statusor.h"
#include "client/trace/encoded_graph.h"
#include "hearth/prepare.h"

namespace hearth::cli {

// Empty where there are none.
absl::StatusOr<std::string> subnormal_note(const client::EncodedGraph& traced, const client::PrepareConfig& config);

}  // namespace hearth::cli
