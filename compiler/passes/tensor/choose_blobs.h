// choose_blobs: attention that a hand-written kernel of the target computes becomes a Blob; any other is decomposed,
// which is to take the value it was recorded with.
//
// A Blob reads its operands whole and in row-major order (a transposed operand is read through its strides), then one
// i64 array of kNumNumbers numbers that say sizes, strides, mask and scale, so that one compiled blob serves all
// shapes. Why a blob was or was not taken stands in `notes`, one line an attention.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "blobs/library/library.h"
#include "compiler/passes/import/import.h"
#include "compiler/target/target.h"
#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/blob.pb.h"

namespace hearth::passes {

// Positions in the array of numbers, part of the adapters' interface (docs/blobs.md): the scale is the bits of an f64,
// strides are in elements.
enum BlobNumber : int {
  kBatch,
  kNHeadQ,
  kNHeadK,
  kSeqlenQ,
  kSeqlenK,
  kHdimQ,
  kHdimV,
  kIsCausal,
  kPast,
  kScaleBits,
  kStrides,  // batch, head, row of q, then of k, v and the result
  kNumNumbers = kStrides + 12
};

struct BlobKernel {
  v1::BlobSpec spec;          // without a root
  std::string library;        // digest of the library it is of
  std::string symbol;         // what the compiled object exports
  ir::UOpRef grid = nullptr;  // units of a launch, over the graph's vars
  double num_ops = 0;         // of a launch, at upper bounds
};

struct BlobChoices {
  std::vector<BlobKernel> kernels;  // by BlobInfo::id, one a Blob
  std::vector<std::string> notes;
};

// Immutable and shared by all compiles of a worker.
using BlobLibraries = std::vector<std::shared_ptr<const blobs::BlobLibrary>>;

struct BlobOffer {
  const target::Target& target;
  const BlobLibraries& libraries;
  ImportedGraph& imported;  // gets the arrays of numbers
};

ir::UOpRef choose_blobs(ir::Graph& graph, ir::UOpRef sink, const BlobOffer& offer, BlobChoices& choices);

}  // namespace hearth::passes
