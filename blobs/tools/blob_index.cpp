#include "blobs/tools/blob_index.h"

#include <algorithm>
#include <set>

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

constexpr std::size_t kCandidates = 3;

// The parts of a template-id: its arguments, one by one.
std::vector<std::string_view> parts_of(std::string_view type) {
  std::vector<std::string_view> parts;
  std::size_t begin = template_name(type).size() + 1;
  int depth = 0;
  for (std::size_t i = begin; i < type.size(); ++i) {
    const char c = type[i];
    if (c == '<' || c == '(') ++depth;
    const bool last = i + 1 == type.size();
    if ((c == ',' && depth == 0) || last) {
      parts.push_back(type.substr(begin, i - begin));
      begin = i + 1;
    }
    if (c == '>' || c == ')') --depth;
  }
  return parts;
}

struct Candidate {
  std::size_t distance;
  const std::string* stem;
  std::string differs;
};

}  // namespace

std::string blob_key(const std::vector<std::string>& arguments) {
  std::string key;
  for (const std::string& argument : arguments) str_append(&key, key.empty() ? "" : ",", argument);
  return key;
}

std::string_view template_name(std::string_view type) {
  const std::size_t angle = type.find('<');
  return angle == std::string_view::npos ? std::string_view() : type.substr(0, angle);
}

std::string_view unqualified(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

absl::StatusOr<BlobIndex> BlobIndex::make(const std::vector<BlobSource>& blobs) {
  BlobIndex index;
  std::vector<const BlobSource*> sorted;
  for (const BlobSource& blob : blobs) sorted.push_back(&blob);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->stem < b->stem; });
  for (const BlobSource* blob : sorted) {
    if (!index.blobs_.empty() && index.blobs_.back().stem == blob->stem)
      return absl::InvalidArgumentError(str_cat("blob ", blob->stem, " is given twice; stems must be unique"));
    HEARTH_ASSIGN_OR_RETURN(BlobExports read, read_blob_exports(blob->stem, blob->text));
    const int number = static_cast<int>(index.blobs_.size());
    for (const BlobLeaf& leaf : read.leaves) {
      std::vector<int>& owners = index.by_key_[leaf.key];
      if (owners.empty() || owners.back() != number) owners.push_back(number);
      if (!leaf.arguments.empty()) index.heads_.insert(std::string(template_name(leaf.arguments[0])));
    }
    index.join_families(read);
    index.blobs_.push_back(std::move(read));
  }
  index.heads_.erase("");
  return index;
}

std::map<std::string, std::vector<std::string>> BlobIndex::exports() const {
  std::map<std::string, std::vector<std::string>> out;
  for (const BlobExports& blob : blobs_)
    for (const BlobLeaf& leaf : blob.leaves) out[blob.stem].push_back(leaf.prefix);
  return out;
}

void BlobIndex::join_families(const BlobExports& blob) {
  const int own = static_cast<int>(families_.size());  // no family has that number yet
  std::set<int> joined;
  for (const BlobLeaf& leaf : blob.leaves) joined.insert(families_.emplace(unqualified(leaf.name), own).first->second);
  if (joined.size() < 2) return;
  for (auto& [name, family] : families_)
    if (joined.contains(family)) family = *joined.begin();
}

absl::StatusOr<int> BlobIndex::find(std::string_view function, const std::vector<std::string>& arguments) const {
  const auto found = by_key_.find(blob_key(arguments));
  if (found == by_key_.end())
    return absl::FailedPreconditionError(str_cat("no blob is for this type; ", nearest(arguments)));
  const auto exports = [&](int blob, const auto& fits) {
    const std::vector<BlobLeaf>& leaves = blobs_[static_cast<std::size_t>(blob)].leaves;
    return std::any_of(leaves.begin(), leaves.end(),
                       [&](const BlobLeaf& leaf) { return fits(unqualified(leaf.name)); });
  };
  std::vector<int> fitting = found->second;
  if (fitting.size() > 1 || is_leaf(function)) {
    std::erase_if(fitting, [&](int blob) {
      return !exports(blob, [&](std::string_view name) {
        return is_leaf(function) ? name == function : name.starts_with(function);
      });
    });
  }
  if (fitting.size() == 1) return fitting[0];
  const std::string& first = blobs_[static_cast<std::size_t>(found->second[0])].stem;
  if (found->second.size() == 1)
    return absl::FailedPreconditionError(str_cat("its blob ", first, " does not define ", function, "<…>"));
  const std::string& second = blobs_[static_cast<std::size_t>(found->second[1])].stem;
  if (fitting.empty())
    return absl::FailedPreconditionError(
        str_cat("blobs ", first, " and ", second, " are for this type, and neither defines ", function, "<…>"));
  return absl::FailedPreconditionError(
      str_cat("more than one blob is for this function and type: ", blobs_[static_cast<std::size_t>(fitting[0])].stem,
              " and ", blobs_[static_cast<std::size_t>(fitting[1])].stem));
}

std::string BlobIndex::nearest(const std::vector<std::string>& arguments) const {
  if (arguments.empty() || blobs_.empty()) return "there are no blobs";
  const std::vector<std::string_view> wanted = parts_of(arguments[0]);
  std::vector<Candidate> candidates;
  for (const BlobExports& blob : blobs_) {
    const std::vector<std::string>& own = blob.leaves[0].arguments;
    if (own.empty() || template_name(own[0]) != template_name(arguments[0])) continue;
    Candidate candidate{0, &blob.stem, {}};
    const auto compare = [&](std::string_view has, std::string_view wants, const std::string& place) {
      if (has == wants) return;
      if (++candidate.distance <= 4)
        str_append(&candidate.differs, candidate.differs.empty() ? "" : ", ", place, " is ",
                   has.empty() ? "absent" : has, " instead of ", wants.empty() ? "absent" : wants);
    };
    const std::vector<std::string_view> parts = parts_of(own[0]);
    for (std::size_t i = 0; i < std::max(parts.size(), wanted.size()); ++i)
      compare(i < parts.size() ? parts[i] : "", i < wanted.size() ? wanted[i] : "", str_cat("argument ", i + 1));
    for (std::size_t i = 1; i < std::max(own.size(), arguments.size()); ++i)
      compare(i < own.size() ? own[i] : "", i < arguments.size() ? arguments[i] : "", "the architecture");
    candidates.push_back(std::move(candidate));
  }
  if (candidates.empty())
    return str_cat("none of the ", blobs_.size(), " blobs is for a ", template_name(arguments[0]));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  std::string text = "nearest:";
  for (std::size_t i = 0; i < std::min(candidates.size(), kCandidates); ++i)
    str_append(&text, i ? "; " : " ", *candidates[i].stem, " (", candidates[i].differs,
               candidates[i].distance > 4 ? ", …)" : ")");
  return text;
}

}  // namespace hearth::blobs
