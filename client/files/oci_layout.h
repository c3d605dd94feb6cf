// A pack as an OCI image layout (image-spec 1.1, image-layout.md): a folder that oras, skopeo and crane copy to and from
// registries, and whose manifest cosign signs. The pack is the only layer of an artifact of the type kPackMediaType.
// Thread-safe. Errors: those of base/file.h; ALREADY_EXISTS for a folder that holds anything; NOT_FOUND for a layout
// without a pack; INVALID_ARGUMENT for one with several, and for no layout; DATA_LOSS for a blob that is not what its
// descriptor says. Messages begin with the path.
//
//   absl::StatusOr<std::string> manifest = write_oci_layout("out", pack, "model.hearthpack");   // "sha256:…"
//   absl::StatusOr<std::string> path = pack_in_oci_layout("out");
#pragma once
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::client {

inline constexpr char kPackMediaType[] = "application/vnd.hearth.pack.v1";

// `title`: what tools that unpack the layer call the file. -> the manifest's digest, by which a registry knows it
absl::StatusOr<std::string> write_oci_layout(const std::string& folder, std::string_view pack,
                                             const std::string& title);
// -> the path of the pack's file in it
absl::StatusOr<std::string> pack_in_oci_layout(const std::string& folder);

}  // namespace hearth::client
