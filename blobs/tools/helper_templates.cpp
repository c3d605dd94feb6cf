#include "blobs/tools/helper_templates.h"

#include <algorithm>
#include <set>

#include "blobs/loader/hearth_blob.h"

namespace hearth::blobs {
namespace {

constexpr std::size_t kMaxRows = blob::SiteGroup::kMaxBlobs;

class Judge {
 public:
  Judge(const CppTokens& tokens, const CppDefinition& definition, const BlobIndex& index)
      : tokens_(tokens), definition_(definition), index_(index) {}

  // Whether `helper`, with its calls, can be shared; fills in the rest of it.
  bool approve(SharedHelper* helper) {
    if (helper->helper_calls.empty() || !find_rows(helper) || helper->rows.size() > kMaxRows) return false;
    if (!types_only_name_blobs(*helper) || !lambdas_capture_by_default(*helper)) return false;
    if (!is_called_as_seen(*helper)) return false;
    for (const HelperCall* call : helper->helper_calls)
      if (!call_fits(*call, *helper)) return false;
    return leaves_are_alike(*helper);
  }

 private:
  // The parameters that leaf calls begin with; the others must follow as they are.
  bool find_rows(SharedHelper* helper) {
    const auto& parameters = definition_.type_parameters;
    std::set<std::string_view> first;
    for (const LeafCall* call : helper->leaf_calls) {
      const std::vector<int> arguments = argument_names(*call);
      if (arguments.empty()) return false;
      for (const int name : arguments)
        if (std::find(parameters.begin(), parameters.end(), tokens_.text(name)) == parameters.end()) return false;
      first.insert(tokens_.text(arguments[0]));
    }
    for (const std::string_view parameter : parameters)
      if (first.contains(parameter)) helper->rows.emplace(parameter, 0);
    int row = 0;
    for (const std::string_view parameter : parameters)
      if (const auto found = helper->rows.find(parameter); found != helper->rows.end()) found->second = row++;
    return !helper->rows.empty();
  }

  // The tokens of a leaf call's arguments, when each is one name; else nothing.
  std::vector<int> argument_names(const LeafCall& call) const {
    const int close = call.end - 1;
    int open = call.begin;
    while (open < close && !tokens_.is(open, "<")) ++open;
    std::vector<int> names;
    for (int i = open + 1; i < close; i += 2) {
      if (!tokens_.is_name(i) || (i + 1 != close && !tokens_.is(i + 1, ","))) return {};
      names.push_back(i);
    }
    return names;
  }

  bool is_in_leaf_call(int i, const SharedHelper& helper) const {
    return std::any_of(helper.leaf_calls.begin(), helper.leaf_calls.end(),
                       [&](const LeafCall* call) { return i >= call->begin && i < call->end; });
  }

  // std::is_same_v<T, void> and std::is_void_v<T>: instances for void are made apart.
  bool asks_for_void(int i) const {
    return tokens_.is(i - 1, "<") && ((tokens_.is(i - 2, "is_same_v") && tokens_.is(i + 1, ",") &&
                                       tokens_.is(i + 2, "void") && tokens_.is(i + 3, ">")) ||
                                      (tokens_.is(i - 2, "is_void_v") && tokens_.is(i + 1, ">")));
  }

  bool types_only_name_blobs(const SharedHelper& helper) const {
    for (int i = definition_.name; i < definition_.close; ++i)
      if (tokens_.is_name(i) && helper.rows.contains(tokens_.text(i)) && !is_in_leaf_call(i, helper) &&
          !asks_for_void(i))
        return false;
    return true;
  }

  // A lambda that calls a blob sees the group of sites by [=] or [&].
  bool lambdas_capture_by_default(const SharedHelper& helper) const {
    for (int i = definition_.open; i < definition_.close; ++i) {
      if (!tokens_.is(i, "[") || tokens_.is_name(i - 1) || tokens_.is(i - 1, ")") || tokens_.is(i - 1, "]")) continue;
      const bool by_default =
          (tokens_.is(i + 1, "=") || tokens_.is(i + 1, "&")) && (tokens_.is(i + 2, "]") || tokens_.is(i + 2, ","));
      int body = tokens_.partner[i] + 1;
      while (body < definition_.close && !tokens_.is(body, "{") && !tokens_.is(body, ";")) ++body;
      if (by_default || !tokens_.is(body, "{")) continue;
      for (const LeafCall* call : helper.leaf_calls)
        if (call->begin > body && call->begin < tokens_.partner[body]) return false;
    }
    return true;
  }

  // Every mention of its name is its definition or one of the calls: nobody takes its address or declares it again.
  bool is_called_as_seen(const SharedHelper& helper) const {
    const std::string_view name = tokens_.text(definition_.name);
    std::set<int> known = {definition_.name};
    for (const HelperCall* call : helper.helper_calls) known.insert(call->name);
    for (int i = 0; i < tokens_.size(); ++i)
      if (tokens_.is_name(i) && tokens_.text(i) == name && !known.contains(i)) return false;
    return true;
  }

  bool call_fits(const HelperCall& call, const SharedHelper& helper) const {
    if (call.arguments.size() != definition_.type_parameters.size()) return false;
    for (std::size_t k = 0; k < call.arguments.size(); ++k) {
      const HelperCall::Argument& argument = call.arguments[k];
      const bool is_row = helper.rows.contains(definition_.type_parameters[k]);
      if (is_row != (argument.blob >= 0 || (is_row && argument.type == "void"))) return false;
    }
    const int open = call.close + 1, end = tokens_.partner[open];
    for (int i = open; i < end; ++i)
      if (tokens_.is(i, "{")) return false;  // an argument in braces has no type to hand on
    return end > open;
  }

  const BlobLeaf* leaf_of(int blob, std::string_view name, std::size_t* place) const {
    const std::vector<BlobLeaf>& leaves = index_.blobs()[static_cast<std::size_t>(blob)].leaves;
    for (*place = 0; *place < leaves.size(); ++*place)
      if (unqualified(leaves[*place].name) == name) return &leaves[*place];
    return nullptr;
  }

  // Each function that the body calls has one signature and one place among the exports, whatever blob it is of.
  bool leaves_are_alike(const SharedHelper& helper) const {
    for (const LeafCall* leaf_call : helper.leaf_calls) {
      const std::string_view parameter = tokens_.text(argument_names(*leaf_call)[0]);
      const auto& parameters = definition_.type_parameters;
      const auto k =
          static_cast<std::size_t>(std::find(parameters.begin(), parameters.end(), parameter) - parameters.begin());
      const BlobLeaf* first = nullptr;
      std::size_t first_place = 0;
      for (const HelperCall* call : helper.helper_calls) {
        const int blob = call->arguments[k].blob;
        if (blob < 0) continue;
        std::size_t place = 0;
        const BlobLeaf* leaf = leaf_of(blob, unqualified(leaf_call->name), &place);
        if (leaf == nullptr) return false;
        if (first == nullptr) first = leaf, first_place = place;
        if (place != first_place || leaf->result != first->result || leaf->parameters != first->parameters)
          return false;
      }
    }
    return true;
  }

  const CppTokens& tokens_;
  const CppDefinition& definition_;
  const BlobIndex& index_;
};

}  // namespace

std::vector<SharedHelper> shared_helpers(const CppTokens& tokens, const std::vector<CppDefinition>& definitions,
                                         const BlobIndex& index, const DispatcherSites& sites) {
  std::vector<SharedHelper> shared;
  for (const CppDefinition& definition : definitions) {
    if (!definition.is_function_template()) continue;
    SharedHelper helper{&definition, {}, {}, {}};
    for (const LeafCall& call : sites.calls)
      if (call.begin > definition.open && call.begin < definition.close) helper.leaf_calls.push_back(&call);
    for (const HelperCall& call : sites.helper_calls)
      if (tokens.text(call.name) == tokens.text(definition.name)) helper.helper_calls.push_back(&call);
    if (Judge(tokens, definition, index).approve(&helper)) shared.push_back(std::move(helper));
  }
  return shared;
}

}  // namespace hearth::blobs
