// A manifest: a TOML file that says of each model of a product with which lengths, constants, threads, weights and
// devices its processes prepare it, so that one command fills and checks the cache for all of them.
//
//   [[model]]
//   file = "recognise.onnx"                  # beside the manifest, or absolute
//   dims = { batch = "1:8", width = 320 }    # as --dim takes them
//   lengths = [{ height = 32 }, { height = 48 }]   # several plans: each of these with `dims`
//   consts = { rate = 16000 }
//   carry = { present = "past" }
//   threads = [1, 4]
//   weights = "bf16"
//   device = "cpu"                           # or targets = ["cpu:x86-64-v3"]
//
// Errors: INVALID_ARGUMENT naming the file, the line and what is expected there; NOT_FOUND.
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/model_flags.h"

namespace hearth::cli {

// One model of a manifest with one set of lengths.
struct ManifestEntry {
  std::string name;  // of the model, unique in the manifest: what the file is called, if nothing else is said
  std::string path;
  ModelFlags flags;                  // those of the command line with what the manifest says
  std::vector<int> threads;          // empty: as the command line has it
  std::vector<std::string> targets;  // likewise; as --target
};

// `given`: what the command line says for all models.
absl::StatusOr<std::vector<ManifestEntry>> read_manifest(const std::string& path, const ModelFlags& given);

// The text of an entry, for a first manifest.
std::string manifest_text(const ManifestEntry& entry);

}  // namespace hearth::cli
