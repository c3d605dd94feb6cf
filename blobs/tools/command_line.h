// A compiler's command line as build systems write it: response files expanded, and what it asks for.
//
// Quoting in response files is GCC's: white space separates, '…' and "…" group, a backslash takes the next character as
// it is, also inside quotes. A response file may name others; one that does not exist stays as it is, as GCC and
// clang do. Pure functions but for reading response files; thread-safe. Errors: InvalidArgument naming the response
// file that includes itself or cannot be read. Example:
//   absl::StatusOr<std::vector<std::string>> args = expand_response_files({"@libmha_fwd.so.rsp", "-shared"});
//   CommandLine line = parse_command_line(*args);
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

struct CommandLine {
  enum class Kind {
    kProbe,    // asks the compiler about itself, preprocesses, or reads what is no file
    kCompile,  // -c
    kLink,     // neither: objects or sources into a program or library
  };
  Kind kind = Kind::kProbe;
  std::vector<std::string> sources;  // inputs that are compiled, as written
  std::vector<std::string> objects;  // other inputs: objects, archives, libraries by path
  std::string output;                // of -o; empty when there is none
  bool shared = false;
  bool wants_depfile = false;                // -MD or -MMD
  std::string depfile;                       // of -MF; empty when there is none
  std::vector<std::string> depfile_targets;  // of -MT and -MQ
};

CommandLine parse_command_line(const std::vector<std::string>& args);

absl::StatusOr<std::vector<std::string>> expand_response_files(const std::vector<std::string>& args);

// The words of a response file's text.
std::vector<std::string> split_words(std::string_view text);

// Whether `option` takes the next argument as its value, e.g. -o, -I, -mllvm.
bool takes_next_argument(std::string_view option);

// The output of "-ofile" in one word; empty when `arg` is anything else, e.g. "-offload-…".
std::string joined_output(std::string_view arg);

// `path` made absolute from `folder` and freed of "." and "..", without asking the file system.
std::string absolute_path(const std::string& path, const std::string& folder);

}  // namespace hearth::blobs
