#include "blobs/tools/aiter_build.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTraceback = "Traceback (most recent call last):";
// ComposableKernel's generator and aiter's own.
constexpr std::string_view kGenerators[] = {"generate.py", "codegen.py"};

// Also from one file system to another.
void move_file(const std::string& from, const std::string& to, std::error_code* error) {
  fs::rename(from, to, *error);
  if (!*error) return;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, *error);
  if (!*error) fs::remove(from, *error);
}

std::string_view next_line(std::string_view text, std::size_t* at) {
  const std::size_t end = std::min(text.find('\n', *at), text.size());
  const std::string_view line = text.substr(*at, end - *at);
  *at = end + 1;
  return line;
}

// The program of a frame, `  File "/a/generate.py", line 5, in <module>`.
std::string_view generator_of(std::string_view frame) {
  for (const std::string_view name : kGenerators)
    if (frame.find(str_cat("/", name, "\", line ")) != std::string_view::npos) return name;
  return {};
}

}  // namespace

absl::Status CheckoutLibraries::move(const std::string& folder, const std::vector<std::string>& names,
                                     const std::string& tmp) {
  for (const std::string& name : names) {
    const std::string there = str_cat(folder, "/", name), aside = str_cat(tmp, "/", name, ".of_checkout");
    std::error_code error;
    if (fs::exists(aside, error)) {
      fs::remove(there, error);  // a build was killed: this is what it left, and the other what was there before
    } else if (fs::exists(fs::symlink_status(there, error))) {
      move_file(there, aside, &error);
    } else {
      error.clear();
    }
    if (error)
      return absl::PermissionDeniedError(str_cat(there, ": cannot be moved out of the way: ", error.message(),
                                                 "; compile.py would import it; remove it"));
    moved_.emplace_back(there, aside);
  }
  return absl::OkStatus();
}

CheckoutLibraries::~CheckoutLibraries() {
  for (const auto& [there, aside] : moved_) {
    std::error_code error;
    fs::remove(there, error);
    if (fs::exists(fs::symlink_status(aside, error))) move_file(aside, there, &error);
  }
}

std::string failed_generator(std::string_view log) {
  for (std::size_t at = log.find(kTraceback); at != std::string_view::npos; at = log.find(kTraceback, at)) {
    next_line(log, &at);
    std::string_view generator, line;
    // Frames and their source lines are indented; the first line that is not says what happened.
    while (at < log.size()) {
      line = next_line(log, &at);
      if (!line.starts_with(' ')) break;
      if (generator.empty()) generator = generator_of(line);
    }
    if (!generator.empty()) return str_cat(generator, ": ", line.starts_with(' ') ? "a traceback, cut short" : line);
  }
  // What Python's argparse says of arguments that a generator does not know: "generate: error: no such API".
  for (std::size_t at = 0; at < log.size();) {
    const std::string_view line = next_line(log, &at);
    for (const std::string_view name : kGenerators)
      if (line.starts_with(str_cat(name, ": error: ")) ||
          line.starts_with(str_cat(name.substr(0, name.find('.')), ": error: ")))
        return std::string(line);
  }
  return {};
}

}  // namespace hearth::blobs
