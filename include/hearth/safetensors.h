// Safetensors files (github.com/huggingface/safetensors): named arrays behind a JSON header. The file is mapped, not
// read: parameters made from it have their bytes in the page cache, shared between processes, and keep the mapping
// alive. Nothing in the header is trusted. The file must not shrink while it is mapped (as for any mapped file).
// Immutable once opened; thread-safe. Errors: absl::Status naming file, tensor and what is wrong.
//
//   absl::StatusOr<Safetensors> file = Safetensors::open("model.safetensors");
//   Tensor w = file->parameter("encoder.weight");   // JitError when there is none
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hearth/array.h"
#include "hearth/tensor.h"

#pragma GCC visibility push(default)
namespace hearth::client {

class Safetensors {
 public:
  static absl::StatusOr<Safetensors> open(const std::string& path);
  // A file's content, which `owner` keeps alive; `path` only names it in errors.
  static absl::StatusOr<Safetensors> parse(std::string_view content, const std::string& path,
                                           std::shared_ptr<const void> owner);

  // By name, sorted.
  const std::map<std::string, ArrayView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // NotFound, naming the closest that there is.
  absl::StatusOr<ArrayView> find(std::string_view name) const;
  // What keeps the arrays' memory, after this object too.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // A parameter of the same name.
  Tensor parameter(std::string_view name, Loc loc = Loc::current()) const;

 private:
  std::string path_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, ArrayView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace hearth::client
#pragma GCC visibility pop
