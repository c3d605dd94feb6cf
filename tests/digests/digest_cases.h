// The graphs whose digests are kept: the models at hand, ONNX's standard cases, random graphs, repeated layers and
// whole nets.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::digests {

struct DigestCase {
  std::string name;  // "models/digits", "onnx/test_add", "random/17", "nets/resnet50"
  std::function<absl::StatusOr<v1::Graph>()> graph;
};

// Sorted by name within a group. `nets_dir` is a folder that tests/bench/nets/make_nets.py has filled; empty for no
// nets. What is not installed is left out.
std::vector<DigestCase> digest_cases(const std::string& source_dir, const std::string& nets_dir);

}  // namespace hearth::digests
