#include "blobs/library/adapter.h"

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <regex>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {

struct Adapter::State {
  std::string family, toolchain;
  std::regex pattern;
  std::vector<std::string> groups;
  std::map<std::string, std::string> dtypes;                // a stem's word -> ours
  std::map<std::string, std::vector<std::string>> require;  // group -> what it may be
  std::map<std::string, std::vector<std::string>> masks;    // "none", "causal" -> what group "mask" may be
  struct Fit {
    std::string length;  // of the query, e.g. "seqlen_q"
    std::string group;   // of the stem: the tile it is a multiple of, or the size it has
    std::string padded;  // group that is there when the blob pads it; empty: none does
    bool is_size = false;
  };
  std::vector<Fit> fits;
  std::vector<std::string> prefer;  // groups, the more important first; "-hdim": the smaller the better
  bool by_head = false;
  std::string glue;
};

namespace {

std::int64_t number(const ReadStem& stem, const std::string& group) {
  const auto found = stem.find(group);
  std::int64_t value = 0;
  if (found != stem.end()) std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

std::string_view text_of(const ReadStem& stem, const std::string& group) {
  const auto found = stem.find(group);
  return found == stem.end() ? std::string_view() : found->second;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

const Length& length_of(const AttentionQuery& query, std::string_view name) {
  if (name == "seqlen_q") return query.seqlen_q;
  if (name == "seqlen_k") return query.seqlen_k;
  if (name == "hdim_q") return query.hdim_q;
  return query.hdim_v;
}

// Reads keys of one table, remembering what is wrong first.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  std::string text(const toml::table& from, const char* key, const char* place) {
    const auto value = from[key].value<std::string>();
    if (!value) fail(str_cat(place, key, " is missing or no string"));
    return value.value_or("");
  }

  std::vector<std::string> words(const toml::node* node, const std::string& place) {
    std::vector<std::string> out;
    const toml::array* list = node ? node->as_array() : nullptr;
    if (!list) fail(str_cat(place, " is missing or no list of strings"));
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const auto word = (*list)[i].value<std::string>();
      if (!word) fail(str_cat(place, " is no list of strings"));
      out.push_back(word.value_or(""));
    }
    return out;
  }

  std::map<std::string, std::vector<std::string>> lists(const toml::table& root, const char* key) {
    std::map<std::string, std::vector<std::string>> out;
    const toml::table* table = root[key].as_table();
    if (!table) fail(str_cat("[", key, "] is missing"));
    if (table)
      for (const auto& [name, list] : *table)
        out[std::string(name.str())] = words(&list, str_cat(key, ".", std::string(name.str())));
    return out;
  }

  void fail(const std::string& what) {
    if (error_.empty()) error_ = str_cat(file_, ": ", what, "; docs/blobs.md describes adapters");
  }
  const std::string& error() const { return error_; }

 private:
  std::string file_, error_;
};

}  // namespace

const std::string& Adapter::family() const { return state_->family; }
const std::string& Adapter::toolchain() const { return state_->toolchain; }
bool Adapter::is_launched_by_head() const { return state_->by_head; }

std::optional<ReadStem> Adapter::read(const Blob& blob) const {
  if (blob.family != state_->family) return std::nullopt;
  std::smatch match;
  if (!std::regex_match(blob.stem, match, state_->pattern)) return std::nullopt;
  ReadStem out;
  for (std::size_t i = 0; i < state_->groups.size(); ++i) out[state_->groups[i]] = match[i + 1].str();
  return out;
}

std::string Adapter::objection(const ReadStem& stem, const AttentionQuery& query) const {
  const auto dtype = state_->dtypes.find(std::string(text_of(stem, "dtype")));
  if (dtype == state_->dtypes.end() || dtype->second != query.dtype)
    return str_cat("dtype is ", query.dtype, ", not ", text_of(stem, "dtype"));
  const char* mask = query.causal ? "causal" : "none";
  const auto masks = state_->masks.find(mask);
  if (masks == state_->masks.end() || !contains(masks->second, text_of(stem, "mask")))
    return str_cat("the mask is ", mask);
  for (const auto& [group, words] : state_->require)
    if (!contains(words, text_of(stem, group))) return str_cat("its ", group, " is '", text_of(stem, group), "'");
  for (const auto& fit : state_->fits) {
    const Length& length = length_of(query, fit.length);
    const std::int64_t wanted = number(stem, fit.group);
    const bool is_fixed = length.min == length.max;
    const std::string shown = is_fixed ? std::to_string(length.max) : str_cat("up to ", length.max);
    if (wanted <= 0) return str_cat("its ", fit.group, " is no number");
    if (fit.is_size && length.max > wanted) return str_cat(fit.length, " is ", shown, ", over ", wanted);
    if (!fit.padded.empty() && !text_of(stem, fit.padded).empty()) continue;
    if (!is_fixed) return str_cat(fit.length, " varies and the blob does not pad it");
    if (fit.is_size ? length.max != wanted : length.max % wanted != 0)
      return str_cat(fit.length, " is ", shown, fit.is_size ? ", not " : ", no multiple of ", wanted);
  }
  return {};
}

bool Adapter::prefers(const ReadStem& a, const ReadStem& b) const {
  for (const std::string& wish : state_->prefer) {
    const bool smaller = wish[0] == '-';
    const std::string group = smaller ? wish.substr(1) : wish;
    const std::int64_t x = number(a, group), y = number(b, group);
    if (x != y) return smaller ? x < y : x > y;
    // Without numbers in it: absent before present, or the other way round.
    const auto s = text_of(a, group).size(), t = text_of(b, group).size();
    if (s != t) return smaller ? s < t : s > t;
  }
  return false;
}

std::string Adapter::glue(std::string_view symbol) const {
  return str_cat("#define HEARTH_BLOB_SYMBOL ", symbol, "\n", state_->glue);
}

absl::StatusOr<Adapter> parse_adapter(std::string_view text, const std::string& name) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        str_cat(name, ":", error.source().begin.line, ": ", std::string(error.description())));
  }
  const auto version = root["hearth_blob_adapter"].value<std::int64_t>();
  if (!version) return absl::InvalidArgumentError(str_cat(name, ": has no hearth_blob_adapter = ", kAdapterVersion));
  if (*version != kAdapterVersion)
    return absl::FailedPreconditionError(str_cat(name, ": is an adapter of version ", *version, ", this hearth reads ",
                                                 kAdapterVersion, "; use the adapters of its release"));
  Reader reader(name);
  auto state = std::make_shared<Adapter::State>();
  if (reader.text(root, "op", "") != "scaled_dot_product_attention")
    reader.fail("op is not \"scaled_dot_product_attention\"");
  state->family = reader.text(root, "family", "");
  state->toolchain = reader.text(root, "toolchain", "");
  if (state->toolchain != kHipToolchain && state->toolchain != kCxxToolchain)
    reader.fail(str_cat("toolchain is neither \"", kHipToolchain, "\" nor \"", kCxxToolchain, "\""));
  const std::string pattern = reader.text(root, "stem", "");
  state->groups = reader.words(root.get("groups"), "groups");
  try {
    state->pattern = std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    reader.fail(str_cat("stem is no regular expression: ", error.what()));
  }
  if (state->pattern.mark_count() != state->groups.size())
    reader.fail(str_cat("stem has ", state->pattern.mark_count(), " groups and groups names ", state->groups.size()));
  if (!contains(state->groups, "dtype")) reader.fail("groups has no \"dtype\"");
  if (const toml::table* dtypes = root["dtypes"].as_table()) {
    for (const auto& [word, ours] : *dtypes)
      state->dtypes[std::string(word.str())] = ours.value<std::string>().value_or("");
  } else {
    reader.fail("[dtypes] is missing");
  }
  state->require = reader.lists(root, "require");
  state->masks = reader.lists(root, "masks");
  const toml::table* fits = root["fits"].as_table();
  if (!fits) reader.fail("[fits] is missing");
  for (const char* length : {"seqlen_q", "seqlen_k", "hdim_q", "hdim_v"}) {
    const toml::table* row = fits ? (*fits)[length].as_table() : nullptr;
    if (!row) {
      reader.fail(str_cat("fits.", length, " is missing"));
      continue;
    }
    const auto size = (*row)["size"].value<std::string>(), tile = (*row)["tile"].value<std::string>();
    if (size.has_value() == tile.has_value()) reader.fail(str_cat("fits.", length, " needs either size or tile"));
    Adapter::State::Fit fit{length, size ? *size : tile.value_or(""),
                            (*row)["padded"].value<std::string>().value_or(""), size.has_value()};
    for (const std::string& group : {fit.group, fit.padded})
      if (!group.empty() && !contains(state->groups, group))
        reader.fail(str_cat("fits.", length, ": no group ", group));
    state->fits.push_back(std::move(fit));
  }
  state->prefer = reader.words(root.get("prefer"), "prefer");
  for (const std::string& wish : state->prefer)
    if (!contains(state->groups, wish.starts_with("-") ? wish.substr(1) : wish))
      reader.fail(str_cat("prefer: no group ", wish));
  const std::string units = reader.text(root, "units", "");
  if (units != "one" && units != "heads") reader.fail("units is neither \"one\" nor \"heads\"");
  state->by_head = units == "heads";
  state->glue = reader.text(root, "glue", "");
  if (!reader.error().empty()) return absl::InvalidArgumentError(reader.error());
  Adapter adapter;
  adapter.state_ = std::move(state);
  return adapter;
}

absl::StatusOr<Adapter> read_adapter(const std::string& path) {
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(path));
  return parse_adapter(text, path);
}

}  // namespace hearth::blobs
