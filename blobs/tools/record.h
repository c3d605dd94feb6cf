// Record: one compile that the interceptor did not run, as one line of JSON in a file that many processes append to.
//
// A line is written with one write() to a descriptor opened with O_APPEND, which the kernel does not interleave, and
// begins with a line break of its own: what a killed process or a full disk left unfinished spoils no other line.
// Thread-safe. Errors: InvalidArgument for an argument that is not UTF-8 and for another version's record, naming file,
// line and remedy; ResourceExhausted when the disk is full. Example:
//   absl::Status written = append_record("build/records.ndjson", {.kind = "blob", .source = "/a/blob/x.cpp", …});
//   absl::StatusOr<Records> all = read_records("build/records.ndjson");
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace hearth::blobs {

inline constexpr int kRecordVersion = 1;
inline constexpr char kBlobRecord[] = "blob";
inline constexpr char kDispatcherRecord[] = "dispatcher";

struct Record {
  std::string kind;               // kBlobRecord or kDispatcherRecord
  std::string tool;               // the name it was called by: "hipcc"
  std::string source;             // absolute
  std::string output;             // absolute
  std::string cwd;                // where it was called
  std::vector<std::string> args;  // without the program, response files expanded
};

struct Records {
  std::vector<Record> records;  // in the order they were written; a later one of the same output replaces an earlier
  std::vector<int> torn_lines;  // numbers (from 1) of lines that were cut short
};

absl::Status append_record(const std::string& file, const Record& record);
absl::StatusOr<Records> read_records(const std::string& file);

}  // namespace hearth::blobs
