// Repeated layers for compile-time figures: a pre-norm transformer block (layer norm, one attention head with softmax,
// residuals, GELU MLP) with parameters of its own in each layer. No state; safe from several threads.
//
//   v1::Graph graph = repeated_layers(100, Widths::kEqual);
#pragma once
#include "hearth/v1/graph.pb.h"

namespace hearth::bench {

enum class Widths {
  kEqual,     // every layer has the same shapes: all layers share one layer's kernels
  kDistinct,  // layer i is 32 + i wide: no kernel is shared between layers
};

// Each node names its layer and op as provenance, as the ONNX importer does.
v1::Graph repeated_layers(int num_layers, Widths widths);

}  // namespace hearth::bench
