#include <catch2/catch.hpp>

#include "tests/conformance/numpy/op_cases.h"

using namespace hearth;
using namespace hearth::client;
using hearth::conformance::numpy::check_family;
using hearth::conformance::numpy::Tensors;

namespace {

Tensors both(const Compacted& found) { return {found.values, found.length}; }
Tensors all(const UniqueResult& found) {
  return {found.values, found.indices, found.inverse, found.counts, found.length};
}

}  // namespace

TEST_CASE("results whose length depends on the data are numpy's, and zeros behind") {
  check_family("compaction",
               {
                   {"nonzero", [](const Tensors& in) { return both(nonzero(in[0])); }},
                   {"nonzero_bool", [](const Tensors& in) { return both(nonzero(in[0])); }},
                   {"nonzero_none", [](const Tensors& in) { return both(nonzero(in[0])); }},
                   {"compress", [](const Tensors& in) { return both(compress(in[0], in[1], 1)); }},
                   {"compress_short", [](const Tensors& in) { return both(compress(in[0], in[1], 0)); }},
                   {"unique", [](const Tensors& in) { return all(unique(in[0])); }},
                   {"unique_unsorted", [](const Tensors& in) { return all(unique(in[0], {}, false)); }},
                   {"unique_rows", [](const Tensors& in) { return all(unique(in[0], 0)); }},
                   {"unique_columns", [](const Tensors& in) { return all(unique(in[0], 1)); }},
                   {"unique_rows_unsorted", [](const Tensors& in) { return all(unique(in[0], 0, false)); }},
                   {"unique_bool", [](const Tensors& in) { return all(unique(in[0])); }},
                   {"unique_nan", [](const Tensors& in) { return all(unique(in[0])); }},
                   {"suppression",
                    [](const Tensors& in) {
                      return both(non_max_suppression(
                          in[0], in[1], {.max_per_class = 4, .iou_threshold = 0.4, .score_threshold = 0.2}));
                    }},
               });
}
