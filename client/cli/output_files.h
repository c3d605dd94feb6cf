// OutputFiles: what a command is going to write must not be what it reads, nor another of its outputs, whatever names
// and links lie between: files are compared by identity (device and inode; where there is none yet, by where the name
// leads). Devices and pipes may be written as often as one likes. Not thread-safe. Errors: InvalidArgument naming both.
//
//   OutputFiles outputs;
//   outputs.reads("model.onnx", "the model");
//   absl::Status safe = outputs.writes("out.onnx", "--output out.onnx");   // before anything is written
#pragma once
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hearth::cli {

class OutputFiles {
 public:
  void reads(const std::string& path, const std::string& what);
  absl::Status writes(const std::string& path, const std::string& what);

 private:
  std::map<std::string, std::string> taken_;  // identity -> what the file is
};

}  // namespace hearth::cli
