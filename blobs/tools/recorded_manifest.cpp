#include "blobs/tools/recorded_manifest.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "blobs/tools/command_line.h"

namespace hearth::blobs {
namespace {

constexpr std::string_view kArchFlag = "--offload-arch=";
// Flags whose value is a path, as two words or joined.
constexpr std::string_view kPathFlags[] = {"-isystem",  "-idirafter",   "-iquote",  "-include", "-imacros",
                                           "-isysroot", "-ivfsoverlay", "-iprefix", "-I"};

bool below(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && (folder == "/" || path[folder.size()] == '/'));
}

std::string below_mapped(const std::string& path, const InterceptConfig& config) {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& entry : config.mapping)
    if (below(path, entry.first) && (best == nullptr || entry.first.size() > best->first.size())) best = &entry;
  if (best == nullptr) return "";
  std::string rest = path.substr(std::min(path.size(), best->first.size() + 1));
  std::string out = best->second;
  if (!out.empty() && !rest.empty()) out += "/";
  out += rest;
  return out.empty() ? "." : out;
}

// A path of a flag as the manifest has it: below {root}, in the real ROCm home, or absolute.
std::string flag_path(const std::string& written, const Record& record, const InterceptConfig& config) {
  const std::string path = absolute_path(written, record.cwd);
  if (below(path, config.fake_home) && !config.fake_home.empty())
    return config.real_home + path.substr(config.fake_home.size());
  const std::string relative = path_below_root(path, config);
  if (relative.empty()) return path;
  return relative == "." ? std::string(kRootMark) : str_cat(kRootMark, "/", relative);
}

// The value of "-Dx=/a/b" or "--sysroot=/a/b" when it is an absolute path.
std::string with_value_mapped(const std::string& flag, const Record& record, const InterceptConfig& config) {
  const auto equals = flag.find('=');
  if (equals == std::string::npos || equals + 1 >= flag.size() || flag[equals + 1] != '/') return flag;
  const std::string value = flag.substr(equals + 1);
  const bool ours = !path_below_root(value, config).empty() || below(value, config.fake_home);
  return ours ? flag.substr(0, equals + 1) + flag_path(value, record, config) : flag;
}

// The number of words of a flag that no blob's flags keep: what names inputs, outputs and depfiles. 0: it is kept.
std::size_t dropped(const std::vector<std::string>& args, std::size_t i, const Record& record) {
  const std::string& arg = args[i];
  if (arg == "-o" || arg == "-MF" || arg == "-MT" || arg == "-MQ") return 2;
  if (arg == "-c" || arg == "--compile" || arg.starts_with("-M")) return 1;
  if (!joined_output(arg).empty()) return 1;
  if (!arg.starts_with("-") && absolute_path(arg, record.cwd) == record.source) return 1;
  return 0;
}

void sort_out(const Record& record, const InterceptConfig& config, Blob* blob) {
  for (std::size_t i = 0; i < record.args.size();) {
    const std::string& arg = record.args[i];
    if (const std::size_t words = dropped(record.args, i, record); words > 0) {
      i += words;
    } else if (arg.starts_with(kArchFlag)) {
      const std::string arch = arg.substr(kArchFlag.size());
      if (std::find(blob->archs.begin(), blob->archs.end(), arch) == blob->archs.end()) blob->archs.push_back(arch);
      ++i;
    } else if (arg == "-fvisibility=hidden") {  // it would hide the blob's exports
      ++i;
    } else if (takes_next_argument(arg) && i + 1 < record.args.size()) {
      const bool path = std::find(std::begin(kPathFlags), std::end(kPathFlags), arg) != std::end(kPathFlags);
      const std::string& value = record.args[i + 1];
      blob->flags.push_back(arg);
      blob->flags.push_back(path ? flag_path(value, record, config) : with_value_mapped(value, record, config));
      i += 2;
    } else {
      const auto* joined = std::find_if(std::begin(kPathFlags), std::end(kPathFlags),
                                        [&](std::string_view flag) { return arg.starts_with(flag); });
      // "-include-pch", "-iwithprefix…" are other flags that begin alike.
      const bool path = joined != std::end(kPathFlags) && arg.size() > joined->size() && arg[joined->size()] != '-';
      blob->flags.push_back(path ? str_cat(*joined, flag_path(arg.substr(joined->size()), record, config))
                                 : with_value_mapped(arg, record, config));
      ++i;
    }
  }
}

}  // namespace

std::string path_below_root(const std::string& path, const InterceptConfig& config) {
  std::string relative = below_mapped(path, config);
  if (!relative.empty()) return relative;
  std::error_code error;  // a build may name the real folder behind a link
  const std::string real = std::filesystem::weakly_canonical(path, error).string();
  return error || real == path ? "" : below_mapped(real, config);
}

std::string dispatcher_family(const std::string& source) {
  const std::string_view stem = stem_of(source);
  return std::string(stem.substr(0, stem.size() - std::string_view("_api").size()));
}

std::vector<std::string> recompile_args(const Record& record, const std::string& source, const std::string& object) {
  std::vector<std::string> args;
  for (std::size_t i = 0; i < record.args.size();) {
    if (const std::size_t words = dropped(record.args, i, record); words > 0) {
      i += words;
    } else {
      args.push_back(record.args[i++]);
      if (takes_next_argument(args.back()) && i < record.args.size()) args.push_back(record.args[i++]);
    }
  }
  args.insert(args.end(), {"-c", source, "-o", object});
  return args;
}

absl::StatusOr<Manifest> recorded_manifest(const std::string& library, const std::vector<Record>& records,
                                           const InterceptConfig& config) {
  Manifest manifest{.library = library, .toolchain = config.toolchain, .blobs = {}};
  std::set<std::string> families;
  for (const Record& record : records)
    if (record.kind == kDispatcherRecord) families.insert(dispatcher_family(record.source));
  for (const Record& record : records) {
    if (record.kind != kBlobRecord) continue;
    Blob blob;
    blob.stem = stem_of(record.source);
    blob.source = path_below_root(record.source, config);
    if (blob.source.empty())
      return absl::InvalidArgumentError(
          str_cat("blob ", record.source, ": lies in none of the source folders; name its root with --aiter-dir"));
    for (const std::string& family : families)
      if (blob.stem.starts_with(family + "_") && family.size() > blob.family.size()) blob.family = family;
    if (blob.family.empty())
      return absl::InvalidArgumentError(str_cat("blob ", record.source, ": ", library,
                                                " is linked of no dispatcher (fmha_*_api.cpp) that would call it"));
    sort_out(record, config, &blob);
    manifest.blobs.push_back(std::move(blob));
  }
  std::sort(manifest.blobs.begin(), manifest.blobs.end(), [](const Blob& a, const Blob& b) { return a.stem < b.stem; });
  for (std::size_t i = 1; i < manifest.blobs.size(); ++i) {
    const Blob &a = manifest.blobs[i - 1], &b = manifest.blobs[i];
    if (a.stem == b.stem)
      return absl::InvalidArgumentError(str_cat("blob ", a.stem, ": is there twice, as ", a.source, " and ", b.source));
    if (a.archs != b.archs)
      return absl::InvalidArgumentError(str_cat("blobs ", a.stem, " and ", b.stem,
                                                ": are compiled for different archs; a library has one list of them"));
  }
  return manifest;
}

}  // namespace hearth::blobs
