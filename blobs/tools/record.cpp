#include "blobs/tools/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::ordered_json;

bool take(const Json& line, const char* name, std::string* out) {
  const auto value = line.find(name);
  if (value == line.end() || !value->is_string()) return false;
  *out = value->get<std::string>();
  return true;
}

bool take_record(const Json& line, Record* record) {
  const auto args = line.find("args");
  if (args == line.end() || !args->is_array()) return false;
  for (const Json& arg : *args) {
    if (!arg.is_string()) return false;
    record->args.push_back(arg.get<std::string>());
  }
  return take(line, "kind", &record->kind) && take(line, "tool", &record->tool) &&
         take(line, "source", &record->source) && take(line, "output", &record->output) &&
         take(line, "cwd", &record->cwd);
}

}  // namespace

absl::Status append_record(const std::string& file, const Record& record) {
  const Json json = {
      {"hearth_record", kRecordVersion}, {"kind", record.kind}, {"tool", record.tool}, {"source", record.source},
      {"output", record.output},         {"cwd", record.cwd},   {"args", record.args}};
  std::string line;
  try {
    line = str_cat("\n", json.dump(), "\n");
  } catch (const Json::exception&) {  // nlohmann's only way to say that text is not UTF-8
    return absl::InvalidArgumentError(str_cat("the command that compiles ", record.source, " is not UTF-8"));
  }
  const int fd = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, file);
  const ssize_t written = write(fd, line.data(), line.size());
  const int error = errno;
  if (close(fd) != 0 && written == static_cast<ssize_t>(line.size())) return absl::ErrnoToStatus(errno, file);
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  if (written < 0) return absl::ErrnoToStatus(error, file);
  return absl::ResourceExhaustedError(
      str_cat(file, ": only ", written, " of ", line.size(), " bytes could be written; free space, then build again"));
}

absl::StatusOr<Records> read_records(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::NotFoundError(str_cat(file, ": cannot be read; was anything compiled with the interceptor?"));
  Records all;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.empty()) continue;
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded() || !line.is_object()) {
      all.torn_lines.push_back(number);
      continue;
    }
    const auto version = line.find("hearth_record");
    Record record;
    if (version == line.end() || *version != kRecordVersion || !take_record(line, &record))
      return absl::InvalidArgumentError(str_cat(file, ":", number, ": is not a record of version ", kRecordVersion,
                                                "; remove the build's temporary folder and build again"));
    all.records.push_back(std::move(record));
  }
  return all;
}

}  // namespace hearth::blobs
