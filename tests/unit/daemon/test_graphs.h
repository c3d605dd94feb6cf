// Requests for the fake compiler: a graph whose node names tell it what to do (fake_worker.cpp).
#pragma once
#include <string>
#include <vector>

#include "base/kernel_abi.h"
#include "hearth/v1/compiler_service.pb.h"
#include "proto/versions.h"

namespace hearth::daemon {

inline v1::Target test_target() {
  v1::Target target;
  target.set_device("cpu");
  target.set_triple("fake-unknown-linux-gnu");
  target.set_abi_version(HEARTH_KERNEL_ABI_VERSION);
  return target;
}

inline v1::Graph test_graph(const std::vector<std::string>& names) {
  v1::Graph graph;
  graph.set_version(kGraphVersion);
  for (const std::string& name : names) {
    v1::Node& node = *graph.add_nodes();
    node.set_op(v1::INPUT);
    node.set_dtype(v1::F32);
    node.set_name(name);
  }
  graph.add_outputs()->set_name("out");
  return graph;
}

inline v1::PrepareRequest test_request(const std::vector<std::string>& names) {
  v1::PrepareRequest request;
  request.set_protocol_version(kProtocolVersion);
  *request.mutable_graph() = test_graph(names);
  *request.mutable_target() = test_target();
  return request;
}

}  // namespace hearth::daemon
