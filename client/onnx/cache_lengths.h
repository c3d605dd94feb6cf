// Which outputs of a decoder are its inputs of the next call, longer by what is new, and how their lengths belong together:
// by the shapes and names that the file declares. Inside client/onnx/ and for the command line.
#pragma once
#include <string>
#include <vector>

#include "client/onnx/model_summary.h"

namespace hearth::onnx {

struct Cache {
  std::string output, input;  // "present.0.key", "past_key_values.0.key"
  std::string total, past;    // the names of their lengths along the axis that grows
};

// Outputs and inputs of one shape but for one axis, whose lengths have two names, both of inputs; an output goes with
// the input whose name has the same numbers and last word.
std::vector<Cache> caches_of(const ModelSummary& summary);

// The length that is new in each call: of the first input of integers along its second axis, which is neither of the
// cache's lengths; "" where there is none.
std::string new_length_of(const ModelSummary& summary, const Cache& cache);

}  // namespace hearth::onnx
