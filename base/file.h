// Whole files. read_file: the whole of a regular file, and nothing else. read_input: what a user names as input, also
// "-" (standard input) and pipes. write_file: the parts one after the other. A regular file is replaced at once, by
// renaming, so that readers see the old content or the new, and two writers leave one whole file; its mode and, where
// allowed, its owner stay. A symbolic link keeps pointing to the file, which is replaced. Devices, pipes and
// /dev/stdout are written to. Thread-safe. Errors: the system's code (NOT_FOUND, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED, …); INVALID_ARGUMENT for a folder or a device. Messages begin with the path.
//
//   absl::Status saved = write_file("out/y.npy", {header, bytes});
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::runtime {

absl::StatusOr<std::string> read_file(const std::string& path);

// Whether `path` names a stream: "-", or a pipe or socket. It can be read once only, and neither mapped nor replaced.
bool is_stream(const std::string& path);
// "standard input" for "-", else the path: for messages.
std::string input_name(const std::string& path);
// A stream is read to its end. DEADLINE_EXCEEDED for a named pipe that nobody opens for writing within `patience`.
absl::StatusOr<std::string> read_input(const std::string& path,
                                       std::chrono::milliseconds patience = std::chrono::seconds(10));

absl::Status write_file(const std::string& path, const std::vector<std::string_view>& parts);

}  // namespace hearth::runtime
