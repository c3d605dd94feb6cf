// What every request about a traced graph says: the graph, the target it is compiled for, the options. Errors:
// NOT_FOUND naming an unknown device, INVALID_ARGUMENT a number of threads out of range.
//
//   absl::StatusOr<v1::ExplainRequest> request = request_for<v1::ExplainRequest>(traced, config);
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "client/trace/encoded_graph.h"
#include "hearth/prepare.h"
#include "hearth/v1/compiler_service.pb.h"
#include "runtime/hal/device.h"

namespace hearth::client {

// The devices that PrepareConfig.device names, in their order. INVALID_ARGUMENT where it names none.
absl::StatusOr<std::vector<std::string>> device_names(const std::string& list);

// The same in the order in which they are tried: a software device comes after the "cpu" of the list, which is faster
// than another program that computes on it; `moved` (null: not told) gets a sentence of each.
absl::StatusOr<std::vector<std::string>> devices_in_order(const std::string& list, std::vector<std::string>* moved);

// The first that PrepareConfig.device names and that is there.
absl::StatusOr<const runtime::Device*> device_for(const PrepareConfig& config);

// This host as PrepareConfig.device (the first of them that is there) and .threads choose.
absl::StatusOr<v1::Target> target_for(const PrepareConfig& config);

// The graph with what `config` carries in it.
v1::Graph graph_for(const EncodedGraph& traced, const PrepareConfig& config);

// For `target`, whatever device and number of threads `config` names.
template <class Request>  // of compiler_service.proto: has graph, target and options
Request request_for(const EncodedGraph& traced, const PrepareConfig& config, v1::Target target) {
  Request request;
  *request.mutable_graph() = graph_for(traced, config);
  *request.mutable_target() = std::move(target);
  if constexpr (requires { request.set_sealed(true); }) request.set_sealed(config.sealed);
  if constexpr (requires { request.set_model(""); }) request.set_model(config.model);
  request.mutable_options()->set_opt_level(config.opt_level);
  request.mutable_options()->set_fast_math(config.fast_math);
  request.mutable_options()->set_direct_convolutions(config.direct_convolutions);
  return request;
}

template <class Request>
absl::StatusOr<Request> request_for(const EncodedGraph& traced, const PrepareConfig& config) {
  HEARTH_ASSIGN_OR_RETURN(v1::Target target, target_for(config));
  return request_for<Request>(traced, config, std::move(target));
}

}  // namespace hearth::client
