#include "client/cli/manifest.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "command_line/nearest.h"

namespace hearth::cli {
namespace {

constexpr std::size_t kMaxFileBytes = 16u << 20;
constexpr std::size_t kMaxEntries = 65536;

const std::vector<std::string> kKeys = {"file",  "name",    "dims",    "lengths", "consts",
                                        "carry", "threads", "weights", "device",  "targets"};

class ManifestReader {
 public:
  ManifestReader(std::string path, const ModelFlags& given) : path_(std::move(path)), given_(given) {}

  absl::StatusOr<std::vector<ManifestEntry>> read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key.str() != "model") return unknown(node, "the manifest", std::string(key.str()), {"model"});
    }
    const toml::array* const models = root["model"].as_array();
    if (models == nullptr || models->empty())
      return absl::InvalidArgumentError(str_cat(path_, ": there is no [[model]] in it"));
    for (const toml::node& node : *models) {
      const toml::table* const model = node.as_table();
      if (model == nullptr) return bad(node, "a model is a table, [[model]]");
      HEARTH_RETURN_IF_ERROR(add(*model));
    }
    return std::move(entries_);
  }

 private:
  absl::Status bad(const toml::node& node, std::string_view what) const {
    return absl::InvalidArgumentError(str_cat(path_, ":", node.source().begin.line, ": ", what));
  }
  absl::Status unknown(const toml::node& node, const std::string& of, const std::string& key,
                       const std::vector<std::string>& known) const {
    const std::string meant = command_line::nearest(key, known);
    return bad(node, str_cat(of, " has no key '", key, "'; there are: ", absl::StrJoin(known, ", "),
                             meant.empty() ? "" : str_cat("; did you mean ", meant, "?")));
  }

  // A number, true, false, text, or a list of numbers, as flags take them.
  absl::StatusOr<std::string> value_text(const toml::node& node, const std::string& what) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto real = node.value_exact<double>()) return str_cat(*real);
    if (const auto flag = node.value_exact<bool>()) return std::string(*flag ? "true" : "false");
    if (const toml::array* const list = node.as_array()) {
      std::vector<std::string> elements;
      for (const toml::node& element : *list) {
        if (!element.is_integer() && !element.is_floating_point() && !element.is_boolean())
          return bad(element, str_cat(what, ": a list is one of numbers"));
        absl::StatusOr<std::string> text = value_text(element, what);
        if (!text.ok()) return text;
        elements.push_back(*std::move(text));
      }
      return str_cat("[", absl::StrJoin(elements, ","), "]");
    }
    return bad(node, str_cat(what, ": expected a number, text, true, false or a list of numbers"));
  }

  // { name = value } as NAME=VALUE, in the place of what the list says of the same name.
  absl::Status add_pairs(const toml::node& node, const std::string& what, std::vector<std::string>& list) const {
    const toml::table* const pairs = node.as_table();
    if (pairs == nullptr) return bad(node, str_cat(what, ": expected a table, { name = value }"));
    for (const auto& [key, value] : *pairs) {
      const std::string name(key.str());
      if (name.empty()) return bad(value, str_cat(what, ": a name is empty"));
      HEARTH_ASSIGN_OR_RETURN(std::string text, value_text(value, str_cat(what, ".", name)));
      std::erase_if(list, [&](const std::string& flag) { return flag.starts_with(name + "="); });
      list.push_back(str_cat(name, "=", text));
    }
    return absl::OkStatus();
  }

  absl::Status read_text(const toml::node& node, const std::string& what, std::string& place) const {
    const auto text = node.value_exact<std::string>();
    if (!text || text->empty()) return bad(node, str_cat(what, ": expected text"));
    place = *text;
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status read_list(const toml::node& node, const std::string& what, std::vector<T>& place) const {
    const toml::array* const list = node.as_array();
    const auto add = [&](const toml::node& element) -> absl::Status {
      const auto value = element.value_exact<std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>>();
      if (!value) return bad(element, str_cat(what, ": expected ", std::is_same_v<T, int> ? "numbers" : "texts"));
      if constexpr (std::is_same_v<T, int>) {
        if (*value < 0 || *value > kMaxThreads)
          return bad(element, str_cat(what, ": ", *value, "; expected 0 to ", kMaxThreads));
      }
      place.push_back(static_cast<T>(*value));
      return absl::OkStatus();
    };
    if (list == nullptr) return add(node);
    if (list->empty()) return bad(node, str_cat(what, ": the list is empty"));
    for (const toml::node& element : *list) {
      HEARTH_RETURN_IF_ERROR(add(element));
    }
    return absl::OkStatus();
  }

  absl::Status add(const toml::table& model) {
    ManifestEntry entry;
    entry.flags = given_;
    const toml::node* lengths = nullptr;
    std::string file;
    for (const auto& [key, node] : model) {
      const std::string name(key.str());
      absl::Status read;
      if (name == "file") read = read_text(node, name, file);
      if (name == "name") read = read_text(node, name, entry.name);
      if (name == "dims") read = add_pairs(node, name, entry.flags.dims);
      if (name == "consts") read = add_pairs(node, name, entry.flags.consts);
      if (name == "carry") read = add_pairs(node, name, entry.flags.carried);
      if (name == "threads") read = read_list(node, name, entry.threads);
      if (name == "targets") read = read_list(node, name, entry.targets);
      if (name == "device") read = read_text(node, name, entry.flags.device.emplace());
      if (name == "weights") {
        std::string form;
        read = read_text(node, name, form);
        const auto found = weights_named(form);
        if (read.ok() && !found) read = bad(node, str_cat("weights: '", form, "'; expected f32, bf16 or int8"));
        if (found) entry.flags.weights = *found;
      }
      if (name == "lengths") lengths = &node;
      if (std::ranges::find(kKeys, name) == kKeys.end()) read = unknown(node, "[[model]]", name, kKeys);
      if (!read.ok()) return read;
    }
    if (file.empty()) return bad(model, "[[model]] has no file");
    if (!entry.targets.empty() && model.contains("device"))
      return bad(model, "a model has either a device of this machine or targets");
    namespace fs = std::filesystem;
    entry.path = (fs::path(file).is_absolute() ? fs::path(file) : fs::path(path_).parent_path() / file).string();
    if (entry.name.empty()) entry.name = fs::path(file).stem().string();
    if (!names_.insert(entry.name).second)
      return bad(model, str_cat("a model before has the name '", entry.name,
                                "' as well; give one of them another: name = \"…\""));
    return lengths == nullptr ? keep(model, std::move(entry)) : add_each(*lengths, entry);
  }

  absl::Status add_each(const toml::node& lengths, const ManifestEntry& all) {
    const toml::array* const sets = lengths.as_array();
    if (sets == nullptr || sets->empty())
      return bad(lengths, "lengths: expected a list of tables, [{ name = length }, …]");
    for (const toml::node& set : *sets) {
      ManifestEntry entry = all;
      HEARTH_RETURN_IF_ERROR(add_pairs(set, "lengths", entry.flags.dims));
      HEARTH_RETURN_IF_ERROR(keep(set, std::move(entry)));
    }
    return absl::OkStatus();
  }

  absl::Status keep(const toml::node& node, ManifestEntry entry) {
    if (entries_.size() == kMaxEntries)
      return bad(node, str_cat("more than ", kMaxEntries, " models and sets of lengths"));
    entries_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  const std::string path_;
  const ModelFlags& given_;
  std::set<std::string> names_;
  std::vector<ManifestEntry> entries_;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kDigits[] = "0123456789abcdef";
      result += str_cat("\\u00", std::string(1, kDigits[byte >> 4]), std::string(1, kDigits[byte & 15]));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// NAME=VALUE flags as a table.
std::string table_text(const std::vector<std::string>& flags) {
  std::vector<std::string> pairs;
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    const std::string value = flag.substr(equals + 1);
    const bool is_number =
        !value.empty() && value.size() < 18 && value.find_first_not_of("0123456789") == std::string::npos;
    pairs.push_back(str_cat(quoted(flag.substr(0, equals)), " = ", is_number ? value : quoted(value)));
  }
  return str_cat("{ ", absl::StrJoin(pairs, ", "), " }");
}

}  // namespace

absl::StatusOr<std::vector<ManifestEntry>> read_manifest(const std::string& path, const ModelFlags& given) {
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  if (text.size() > kMaxFileBytes)
    return absl::InvalidArgumentError(
        str_cat(path, " has ", text.size(), " bytes; a manifest has ", kMaxFileBytes, " at most"));
  try {
    const toml::table root = toml::parse(text, path);
    return ManifestReader(path, given).read(root);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        str_cat(path, ":", error.source().begin.line, ": ", std::string(error.description())));
  }
}

std::string manifest_text(const ManifestEntry& entry) {
  std::string text = str_cat("[[model]]\nfile = ", quoted(entry.path), "\n");
  if (!entry.flags.dims.empty()) str_append(&text, "dims = ", table_text(entry.flags.dims), "\n");
  if (!entry.flags.carried.empty()) str_append(&text, "carry = ", table_text(entry.flags.carried), "\n");
  if (!entry.flags.consts.empty()) str_append(&text, "consts = ", table_text(entry.flags.consts), "\n");
  return text;
}

}  // namespace hearth::cli
