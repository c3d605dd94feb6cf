// Who signed a plan file: an Ed25519 signature at the end of its manifest, which lists the digests of all else. Pure but
// for reading the key's file and HEARTH_TRUSTED_KEYS; thread-safe. Inside client/files only.
//
//   absl::StatusOr<std::string> manifest = signed_manifest(unsigned_bytes, "/etc/hearth/writer.key");
//   absl::Status trusted = check_signed(manifest_bytes, parsed, config.trusted_keys);
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hearth/v1/plan_file.pb.h"

namespace hearth::client {

// `manifest`: serialized, without a signature. FAILED_PRECONDITION for a key's file that others may read, and for one that
// holds no key; those of read_file.
absl::StatusOr<std::string> signed_manifest(std::string manifest, const std::string& key_file);

// OK where no key is named, here or by HEARTH_TRUSTED_KEYS, and for a manifest that one of the keys' owners signed.
// PERMISSION_DENIED for any other; INVALID_ARGUMENT for a key that is none.
absl::Status check_signed(std::string_view bytes, const v1::PlanFileManifest& manifest, std::vector<std::string> keys);

}  // namespace hearth::client
