// The three one-dimensional transforms of Winograd's F(4, 3): four results of a correlation with three weights out of
// six products. With d six neighbours, w the weights: results = output(filter(w) * input(d)). Two-dimensional ones are
// these along lines, then along columns.
//
// The points are 0, ±3/4, ±3/2 and infinity: every factor but the filter's is exact in f32, and errors are twice those
// of a direct sum; the usual 0, ±1, ±2 gives four to eight times as much. Filters are transformed in f64.
//
// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015); Barabasz et al., "Error Analysis
// and Improving the Accuracy of Winograd Convolution for Deep Neural Networks" (2020).
#pragma once
#include <array>

#include "compiler/ir/graph.h"

namespace hearth::passes {

inline constexpr int kWinogradOutputs = 4, kWinogradTaps = 3, kWinogradInputs = 6;

template <int kLength>
using WinogradLine = std::array<ir::UOpRef, kLength>;

WinogradLine<kWinogradInputs> winograd_input(ir::Graph& graph, const WinogradLine<kWinogradInputs>& d);
WinogradLine<kWinogradInputs> winograd_filter(ir::Graph& graph, const WinogradLine<kWinogradTaps>& w);
WinogradLine<kWinogradOutputs> winograd_output(ir::Graph& graph, const WinogradLine<kWinogradInputs>& products);

}  // namespace hearth::passes
