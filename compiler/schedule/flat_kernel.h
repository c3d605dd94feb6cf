// FlatKernel: the canonical form of a kernel before its opts, with what its text does not say about its buffers. It is
// what a tuning record is about: equal kernels of different models have one digest. Axes and slots of opts of records,
// candidates and explanations are the canonical ones; `own` and `canonical` translate.
//
//   FlatKernel flat(graph, kernel, slots, /*may_pack=*/true);
//   if (const std::vector<Opt>* found = records.find(flat.digest())) opts = flat.own(*found);
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "compiler/schedule/opts.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::schedule {

class FlatKernel {
 public:
  // `slots`: one a param; slot 0 is the result.
  FlatKernel(ir::Graph& graph, ir::UOpRef kernel, const std::vector<SlotFacts>& slots, bool may_pack);

  const v1::FlatKernel& wire() const { return wire_; }
  const Digest& digest() const { return digest_; }

  // Opts in the kernel's own axes and slots <-> in canonical ones. What an opt names in vain, check_opts refuses.
  std::vector<Opt> own(const std::vector<Opt>& opts) const { return translated(opts, axes_, slots_); }
  std::vector<Opt> canonical(const std::vector<Opt>& opts) const;

 private:
  using Numbers = std::vector<std::uint32_t>;
  static std::vector<Opt> translated(std::vector<Opt> opts, const Numbers& axes, const Numbers& slots);

  v1::FlatKernel wire_;
  Digest digest_{};
  Numbers axes_, slots_;  // canonical -> own
};

// SHA-256 over the text, the slots' facts and may_pack, lengths included.
Digest digest_of(const v1::FlatKernel& kernel);

}  // namespace hearth::schedule
