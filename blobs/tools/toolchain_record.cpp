#include "blobs/tools/toolchain_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::json;

constexpr int kRecordVersion = 1;

std::string record_path(const std::string& folder, const std::string& key) {
  return str_cat(folder, "/toolchain-", to_hex(sha256(key)).substr(0, 16), ".json");
}

bool only_mine(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() && (info.st_mode & 022) == 0;
}

}  // namespace

bool files_unchanged(const ToolchainRecord& record) {
  return std::all_of(record.files.begin(), record.files.end(), [](const StampedFile& file) {
    auto now = files::stamp_of_file(file.path);
    // The numbers of devices are those of one boot or container; records outlive both.
    if (now) now->device = file.stamp.device;
    return now == file.stamp;
  });
}

std::optional<ToolchainRecord> load_record(const std::string& folder, const std::string& key) {
  const std::string path = record_path(folder, key);
  if (!only_mine(folder) || !only_mine(path)) return std::nullopt;
  const auto text = runtime::read_file(path);
  if (!text.ok()) return std::nullopt;
  // The only throws are of missing or wrong fields: a record that is damaged is none.
  try {
    const Json json = Json::parse(*text);
    if (json.at("version") != kRecordVersion || json.at("key") != key) return std::nullopt;
    ToolchainRecord record;
    Toolchain& toolchain = record.toolchain;
    toolchain.kind = json.at("kind");
    toolchain.compiler = json.at("compiler");
    toolchain.prefix_flags = json.at("prefix_flags").get<std::vector<std::string>>();
    toolchain.link_flags = json.at("link_flags").get<std::vector<std::string>>();
    toolchain.version = json.at("says");
    toolchain.digest = json.at("digest");
    for (const Json& file : json.at("files"))
      record.files.push_back(
          {file.at(0),
           {.inode = file.at(4), .size_bytes = file.at(1), .modified_ns = file.at(2), .changed_ns = file.at(3)},
           file.at(5)});
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void save_record(const std::string& folder, const std::string& key, const ToolchainRecord& record) {
  Json files = Json::array();
  for (const StampedFile& file : record.files)
    files.push_back({file.path, file.stamp.size_bytes, file.stamp.modified_ns, file.stamp.changed_ns, file.stamp.inode,
                     file.sha256_hex});
  const Toolchain& toolchain = record.toolchain;
  const Json json = {{"version", kRecordVersion},
                     {"key", key},
                     {"kind", toolchain.kind},
                     {"compiler", toolchain.compiler},
                     {"prefix_flags", toolchain.prefix_flags},
                     {"link_flags", toolchain.link_flags},
                     {"says", toolchain.version},
                     {"digest", toolchain.digest},
                     {"files", files}};
  // Another process may write the same record: each under a name of its own, then renamed.
  const std::string path = record_path(folder, key), mine = str_cat(path, ".", ::getpid());
  if (!runtime::write_file(mine, {json.dump()}).ok() || ::chmod(mine.c_str(), 0600) != 0 ||
      std::rename(mine.c_str(), path.c_str()) != 0)
    std::remove(mine.c_str());
}

}  // namespace hearth::blobs
