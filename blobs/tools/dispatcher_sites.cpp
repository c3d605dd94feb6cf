#include "blobs/tools/dispatcher_sites.h"

#include <unordered_set>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/cpp_walker.h"

namespace hearth::blobs {
namespace {

constexpr char kDispatcherRemedy[] = "; generate dispatcher and blobs with one run of the generator";

class SiteFinder : public CppWalker {
 public:
  SiteFinder(std::string_view file, const CppTokens& tokens, const BlobIndex& index)
      : CppWalker(file, tokens), index_(index) {
    for (int i = 1; i < tokens.size(); ++i)
      if ((tokens.is(i - 1, "struct") || tokens.is(i - 1, "class")) && tokens.text(i).ends_with("_traits_"))
        own_traits_.insert(tokens.text(i));
  }
  DispatcherSites found;

 protected:
  absl::StatusOr<int> on_name(int i) override {
    if (!tokens_.is(i + 1, "<")) return i + 1;
    const bool leaf = index_.is_leaf(tokens_.text(i)) && !tokens_.is(i - 1, ".") && !tokens_.is(i - 1, "->");
    const int close = tokens_.closing_angle(i + 1, tokens_.size());
    if (close < 0) {
      if (leaf)
        return absl::InvalidArgumentError(
            str_cat(where(i), ": the template arguments of ", tokens_.text(i), " have no end"));
      return i + 1;
    }
    const bool call = tokens_.is(close + 1, "(");
    if (!leaf && !call) return i + 1;
    HEARTH_RETURN_IF_ERROR(resolve(i, close, leaf, call));
    return i + 1;
  }

 private:
  bool is_trait(std::string_view type) const {
    const std::string_view head = template_name(type);
    return index_.is_trait(head) || (head.ends_with("_traits_") && !own_traits_.contains(head));
  }

  absl::Status refuse(int i, const std::string& alias, const std::string& type, const std::string& why) const {
    return absl::FailedPreconditionError(
        str_cat(where(i), ": ", tokens_.text(i), "<…>: alias ", alias, " (", type, "): ", why, kDispatcherRemedy));
  }

  absl::Status resolve(int i, int close, bool leaf, bool call) {
    const std::vector<std::pair<int, int>> ranges = aliases_.argument_ranges(i + 1, close);
    const std::vector<CanonicalType> types = aliases_.arguments(i + 1, close);
    if (leaf && types.empty())
      return absl::InvalidArgumentError(str_cat(where(i), ": ", tokens_.text(i), "<> has no template arguments"));
    bool dependent = false;
    std::size_t traits = 0, extras = 0;  // how many traits; where what follows the last trait or void begins
    for (std::size_t k = 0; k < types.size(); ++k) {
      dependent |= types[k].dependent;
      const bool trait = !types[k].dependent && is_trait(types[k].text);
      traits += trait;
      if (trait || types[k].text == "void") extras = k + 1;
    }
    if (!leaf && traits == 0 && !tokens_.text(i).starts_with("fmha_")) return absl::OkStatus();
    for (std::size_t k = 0; k < types.size(); ++k) {
      const std::string alias = tokens_.joined(ranges[k].first, ranges[k].second);
      if (!types[k].ambiguous.empty()) return refuse(i, alias, types[k].text, types[k].ambiguous);
      if (!types[k].unknown.empty())
        return refuse(i, alias, types[k].text,
                      str_cat(types[k].unknown, " is not defined in a scope around this line"));
    }
    if (leaf && call) add_call(i, close);
    if (dependent) return absl::OkStatus();
    if (leaf) return add_site(i, ranges[0], texts(types, 0, types.size())).status();
    HelperCall helper{first_qualifier(i), close, i, {}};
    for (std::size_t k = 0; k < types.size(); ++k) {
      HelperCall::Argument& argument = helper.arguments.emplace_back();
      argument.written = tokens_.joined(ranges[k].first, ranges[k].second);
      argument.type = types[k].text;
      if (k >= extras || !is_trait(types[k].text)) continue;
      std::vector<std::string> arguments = texts(types, extras, types.size());
      arguments.insert(arguments.begin(), types[k].text);
      // A helper may take more than its leaves do.
      for (std::vector<std::string> fewer = arguments; fewer.size() > 1 && !index_.contains(blob_key(arguments));) {
        fewer.pop_back();
        if (index_.contains(blob_key(fewer))) arguments = fewer;
      }
      HEARTH_ASSIGN_OR_RETURN(const int blob, add_site(i, ranges[k], arguments));
      argument.blob = blob;
      argument.family = index_.family_of(blob);
      argument.key = argument.written;
      for (std::size_t extra = 1; extra < arguments.size(); ++extra)
        str_append(&argument.key, ", ",
                   tokens_.joined(ranges[extras + extra - 1].first, ranges[extras + extra - 1].second));
    }
    if (call) found.helper_calls.push_back(std::move(helper));
    return absl::OkStatus();
  }

  static std::vector<std::string> texts(const std::vector<CanonicalType>& types, std::size_t begin, std::size_t end) {
    std::vector<std::string> out;
    for (std::size_t k = begin; k < end; ++k) out.push_back(types[k].text);
    return out;
  }

  int first_qualifier(int i) const {
    while (tokens_.is(i - 1, "::") && tokens_.is_name(i - 2)) i -= 2;
    return tokens_.is(i - 1, "::") ? i - 1 : i;
  }

  void add_call(int i, int close) {
    const int begin = first_qualifier(i);
    found.calls.push_back({begin, close + 1, tokens_.joined(begin, i + 1), tokens_.joined(i + 2, close)});
  }

  // The number of the blob that these arguments are for.
  absl::StatusOr<int> add_site(int i, std::pair<int, int> range, const std::vector<std::string>& arguments) {
    const std::string alias = tokens_.joined(range.first, range.second);
    const absl::StatusOr<int> blob = index_.find(tokens_.text(i), arguments);
    if (!blob.ok()) return refuse(i, alias, blob_key(arguments), std::string(blob.status().message()));
    const BlobExports& exports = index_.blobs()[*blob];
    found.blobs.insert(*blob);
    found.sites.push_back({tokens_.line(i), alias, exports.stem, std::string(tokens_.text(i))});
    found.site_tokens.push_back(i);
    return *blob;
  }

  const BlobIndex& index_;
  std::unordered_set<std::string_view> own_traits_;  // defined in the dispatcher itself: not for blobs
};

}  // namespace

absl::StatusOr<DispatcherSites> find_sites(std::string_view path, const CppTokens& tokens, const BlobIndex& index) {
  SiteFinder finder(path, tokens, index);
  HEARTH_RETURN_IF_ERROR(finder.walk());
  return std::move(finder.found);
}

}  // namespace hearth::blobs
