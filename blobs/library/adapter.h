// Adapter: how traced attention becomes a call of a blob of one family. One TOML file a family and toolchain,
// versioned; docs/blobs.md "Adapters" describes it. It says how a stem is read (a regular expression and names for its
// groups), which stems serve which attention, and holds the C++ that is compiled after a blob's source and calls it
// with our kernel ABI.
//
// Immutable once parsed; thread-safe. Errors: InvalidArgument naming file and key; FailedPrecondition for another
// version.
//
//   absl::StatusOr<Adapter> adapter = read_adapter("adapters/fmha_fwd_host.toml");
//   std::optional<ReadStem> stem = adapter->read(blob);
//   std::string why = adapter->objection(*stem, query);        // empty: it serves
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blobs/library/manifest.h"

namespace hearth::blobs {

inline constexpr int kAdapterVersion = 1;

// A length: min == max unless it depends on variables.
struct Length {
  std::int64_t min = 0, max = 0;
};

// One traced attention, as adapters are asked about it.
struct AttentionQuery {
  std::string dtype;  // of q, k, v and the result, e.g. "f16"
  bool causal = false;
  std::int64_t past = 0;
  Length batch, nhead_q, nhead_k, seqlen_q, seqlen_k, hdim_q, hdim_v;
};

// What a stem says: its groups by name; groups that did not take part are empty.
using ReadStem = std::map<std::string, std::string, std::less<>>;

class Adapter {
 public:
  const std::string& family() const;
  const std::string& toolchain() const;

  // Nothing when the blob is of another family or its stem is not of the pattern.
  std::optional<ReadStem> read(const Blob& blob) const;
  // Why a blob of this stem does not serve the query; empty when it does.
  std::string objection(const ReadStem& stem, const AttentionQuery& query) const;
  // Whether `a` is to be taken rather than `b`; both serve.
  bool prefers(const ReadStem& a, const ReadStem& b) const;

  // Whether a launch has batch * heads units; else it is one unit.
  bool is_launched_by_head() const;
  // The C++ to be compiled after the blob's source; it exports `symbol`, a hearth_kernel_fn over the buffers result, q,
  // k, v and the call's numbers (BlobNumber in compiler/passes/tensor/choose_blobs.h).
  std::string glue(std::string_view symbol) const;

 private:
  friend absl::StatusOr<Adapter> parse_adapter(std::string_view, const std::string&);
  struct State;
  std::shared_ptr<const State> state_;
};

absl::StatusOr<Adapter> parse_adapter(std::string_view toml, const std::string& name_for_errors);
absl::StatusOr<Adapter> read_adapter(const std::string& path);

}  // namespace hearth::blobs
