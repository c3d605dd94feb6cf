// Tensors whose bytes a model keeps in other files (TensorProto.data_location EXTERNAL), which is how models over 2 GiB
// are stored. The files are mapped, not read, and stay mapped as long as an ExternalBytes' owner lives.
//
// Nothing is trusted. A location is a relative path without "..", opened beneath the model's folder: no link, mount or
// race leads out of it, and only regular files are read. Offsets and lengths must lie within the file and be the
// tensor's; two tensors may have the same bytes, but not overlap otherwise; a checksum (SHA-1 of the file) is verified
// where there is one. Thread-safe. Errors: JitError naming tensor, file and what is wrong.
//
//   ExternalData data("models");
//   ExternalBytes bytes = data.find(tensor, count(shape) * dtype_bytes(dtype));
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/unique_fd.h"

namespace hearth_onnx {
class ModelProto;
class TensorProto;
}  // namespace hearth_onnx

namespace hearth::onnx {

struct ExternalBytes {
  const void* data = nullptr;
  std::shared_ptr<const void> owner;
};

// Where a model says that a tensor's bytes are.
struct ExternalPlace {
  std::string tensor;
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // as stated, else what the tensor's type and shape need
  std::string checksum;
};

class ExternalData {
 public:
  // `folder` may be "." but not empty. Links out of it are followed where `allow_links` says so, and where the model's
  // file, at `model_path`, is itself a link: to files beside the one that it leads to, of the same owner. Caches of model
  // hubs lay models so.
  ExternalData(std::string folder, std::string model_path, bool allow_links)
      : folder_(std::move(folder)), model_path_(std::move(model_path)), allow_links_(allow_links) {}

  const std::string& folder() const { return folder_; }
  ExternalBytes find(const ::hearth_onnx::TensorProto& tensor, std::uint64_t num_bytes) const;

 private:
  std::shared_ptr<const runtime::MappedFile> file(const ExternalPlace& place) const;
  UniqueFd open_linked(const std::string& location) const;

  const std::string folder_, model_path_;
  const bool allow_links_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const runtime::MappedFile>> files_;  // by location
  mutable std::map<std::string, std::string> checksums_;                             // of files, once computed
};

bool is_external(const ::hearth_onnx::TensorProto& tensor);
ExternalPlace external_place(const ::hearth_onnx::TensorProto& tensor);
// Where every external tensor of the model lies (initializers and attributes, nested graphs and functions too), in the
// model's order. JitError when one of them makes no sense, or two overlap.
std::vector<ExternalPlace> external_places(const ::hearth_onnx::ModelProto& model);

}  // namespace hearth::onnx
