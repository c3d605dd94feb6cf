// Action keys: the canonical form of a compile request and its SHA-256.
//
// A KeyMaterial is an ordered list of named parts under a domain. encode() is injective (every length is written),
// so equal bytes mean equal requests; the cache stores and compares them in full. Parts have digests of their own:
// `explain` names the part that differs. Provenance, `dump` and protobuf's wire format never enter a key.
// Plain values, no shared state: functions are thread-safe. Example:
//   KeyMaterial material = plan_key_material(graph, target, options, build_id);
//   Digest plan_key = key(material);
//   for (const KeyPart& part : material.parts()) show(part.name, part.digest(), part.detail);
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/sha256.h"

namespace hearth::v1 {
class CompileOptions;
class FlatKernel;
class Graph;
class KernelSpec;
class Target;
}  // namespace hearth::v1

namespace hearth::cache {

struct KeyPart {
  std::string name;    // e.g. "target.features"
  std::string bytes;   // canonical encoding of the value
  std::string detail;  // the value for people; not part of the key

  Digest digest() const { return sha256(bytes); }
};

class KeyMaterial {
 public:
  // `domain` separates kinds of actions and versions of the encoding, e.g. "hearth.plan.v3".
  explicit KeyMaterial(std::string domain) : domain_(std::move(domain)) {}

  void add(std::string name, std::string bytes, std::string detail = {});

  const std::string& domain() const { return domain_; }
  const std::vector<KeyPart>& parts() const { return parts_; }

  // Canonical bytes, see FORMAT.md "Key material".
  std::string encode() const;
  // The inverse of encode() (details are lost). INVALID_ARGUMENT on any other bytes.
  static absl::StatusOr<KeyMaterial> decode(std::string_view bytes);

 private:
  std::string domain_;
  std::vector<KeyPart> parts_;
};

// SHA-256 of material.encode().
Digest key(const KeyMaterial& material);

// Names of parts whose bytes differ, or that only one side has, in the order of `wanted`, then of `other`.
std::vector<std::string> differing_parts(const KeyMaterial& wanted, const KeyMaterial& other);

// What a part is in both, for people: "2 here, 1 there"; "" for parts that no short text says.
std::string part_values(const KeyMaterial& wanted, const KeyMaterial& other, const std::string& part);

// `build_id` covers compiler sources and the LLVM version. `blobs` names the blob libraries that lowering may use;
// empty when there are none, and then no part of the key.
KeyMaterial plan_key_material(const v1::Graph& graph, const v1::Target& target, const v1::CompileOptions& options,
                              std::string_view build_id, std::string_view blobs = {});
// The plan of `plan` that was lowered with tuning records of this digest, of the kernels that it has; empty: with none,
// which is `plan` itself.
KeyMaterial with_tuning(const KeyMaterial& plan, std::string_view digest);
inline constexpr char kTuningPart[] = "tuning";  // what that adds
inline constexpr char kPlanReadsDomain[] = "hearth.plan_reads.v1";
// What lowerings of `plan` took from tuning records (v1::PlanReads).
KeyMaterial plan_reads_key_material(const KeyMaterial& plan);
// The key of a generated kernel; blobs have keys of their own (blob_key.h).
KeyMaterial kernel_key_material(const v1::KernelSpec& spec, const v1::Target& target, const v1::CompileOptions& options,
                                std::string_view build_id);

// The key of a tuning record: the flat kernel, and what every record of one lowering shares (tuning_scope).
KeyMaterial tuning_key_material(const v1::FlatKernel& kernel, const v1::Target& target,
                                const v1::CompileOptions& options, std::string_view build_id);
// Canonical bytes of target, options and build: records with the same scope are used together.
std::string tuning_scope(const v1::Target& target, const v1::CompileOptions& options, std::string_view build_id);
// The scope of a record by its key material; empty when it is not a tuning record's.
std::string tuning_scope(const KeyMaterial& material);

}  // namespace hearth::cache
