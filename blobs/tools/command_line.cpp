#include "blobs/tools/command_line.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

constexpr std::size_t kMaxDepth = 64;

// Sorted, for binary search. What clang and GCC take as two words; joined forms ("-Idir") are one.
constexpr std::string_view kTakesNext[] = {
    "--param",
    "--sysroot",
    "--target",
    "-B",
    "-D",
    "-F",
    "-I",
    "-L",
    "-MF",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-Xarch_device",
    "-Xarch_host",
    "-Xassembler",
    "-Xclang",
    "-Xcuda-ptxas",
    "-Xlinker",
    "-Xoffload-linker",
    "-Xpreprocessor",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-framework",
    "-idirafter",
    "-imacros",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-ivfsoverlay",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-l",
    "-mllvm",
    "-o",
    "-rpath",
    "-soname",
    "-target",
    "-u",
    "-x",
    "-z",
};

bool is_source(std::string_view path) {
  for (const std::string_view ending : {".cpp", ".cu", ".cc", ".cxx", ".C", ".c", ".hip", ".c++"})
    if (path.ends_with(ending)) return true;
  return false;
}

// Options after which nothing is compiled or linked.
bool asks_only(std::string_view arg) {
  for (const std::string_view option : {"-E", "-S", "-M", "-MM", "-###", "-fsyntax-only", "--version", "--help",
                                        "-emit-llvm", "--precompile", "--cuda-device-only", "-help"})
    if (arg == option) return true;
  return arg.starts_with("-dump") || arg.starts_with("-print-") || arg.starts_with("--print-") ||
         arg.starts_with("--help=");
}

absl::Status expand(const std::vector<std::string>& args, std::vector<std::string>* open_files,
                    std::vector<std::string>* out) {
  for (const std::string& arg : args) {
    struct stat info{};
    if (arg.size() < 2 || arg[0] != '@' || stat(arg.c_str() + 1, &info) != 0) {
      out->push_back(arg);
      continue;
    }
    const std::string path = arg.substr(1);
    const std::string same = str_cat(info.st_dev, ":", info.st_ino);
    if (std::find(open_files->begin(), open_files->end(), same) != open_files->end() || open_files->size() >= kMaxDepth)
      return absl::InvalidArgumentError(str_cat("response file ", path, " includes itself"));
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (S_ISDIR(info.st_mode) || !file || (text << file.rdbuf(), !file && info.st_size > 0))
      return absl::InvalidArgumentError(str_cat("response file ", path, " cannot be read"));
    open_files->push_back(same);
    HEARTH_RETURN_IF_ERROR(expand(split_words(text.str()), open_files, out));
    open_files->pop_back();
  }
  return absl::OkStatus();
}

}  // namespace

bool takes_next_argument(std::string_view option) {
  return std::find(std::begin(kTakesNext), std::end(kTakesNext), option) != std::end(kTakesNext);
}

std::string joined_output(std::string_view arg) {
  if (!arg.starts_with("-o") || arg.starts_with("-offload") || arg.starts_with("-object")) return "";
  return std::string(arg.substr(2));
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // of a word, which may be empty: ""
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (std::string_view(" \t\r\n\f\v").find(c) != std::string_view::npos) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

absl::StatusOr<std::vector<std::string>> expand_response_files(const std::vector<std::string>& args) {
  std::vector<std::string> open_files, out;
  HEARTH_RETURN_IF_ERROR(expand(args, &open_files, &out));
  return out;
}

CommandLine parse_command_line(const std::vector<std::string>& args) {
  CommandLine line;
  bool compiles = false, asks = false, reads_no_file = false, sources_by_language = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (takes_next_argument(arg) && i + 1 < args.size()) {
      const std::string& value = args[++i];
      if (arg == "-o") line.output = value;
      if (arg == "-MF") line.depfile = value;
      if (arg == "-MT" || arg == "-MQ") line.depfile_targets.push_back(value);
      if (arg == "-x") sources_by_language = value != "none";
    } else if (arg == "-c" || arg == "--compile") {
      compiles = true;
    } else if (asks_only(arg)) {
      asks = true;
    } else if (arg == "-" || arg == "/dev/null") {
      reads_no_file = true;
    } else if (arg == "-shared" || arg == "--shared") {
      line.shared = true;
    } else if (arg == "-MD" || arg == "-MMD") {
      line.wants_depfile = true;
    } else if (const std::string joined = joined_output(arg); !joined.empty()) {
      line.output = joined;
    } else if (arg.starts_with("-MF") && arg.size() > 3) {
      line.depfile = arg.substr(3);
    } else if ((arg.starts_with("-MT") || arg.starts_with("-MQ")) && arg.size() > 3) {
      line.depfile_targets.emplace_back(arg.substr(3));
    } else if (arg.starts_with("-x") && arg.size() > 2) {
      sources_by_language = arg != "-xnone";
    } else if (!arg.empty() && arg[0] != '-') {
      (is_source(arg) || sources_by_language ? line.sources : line.objects).push_back(args[i]);
    }
  }
  if (asks || reads_no_file || (line.sources.empty() && line.objects.empty()) || line.output == "/dev/null")
    line.kind = CommandLine::Kind::kProbe;
  else
    line.kind = compiles ? CommandLine::Kind::kCompile : CommandLine::Kind::kLink;
  return line;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
  const std::filesystem::path full = std::filesystem::path(folder) / path;
  std::string normal = full.lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace hearth::blobs
