#include "blobs/tools/dispatcher_rewriter.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/loader/hearth_blob.h"
#include "blobs/tools/blob_index.h"
#include "blobs/tools/cpp_outline.h"
#include "blobs/tools/cpp_tokens.h"
#include "blobs/tools/dispatcher_sites.h"
#include "blobs/tools/dispatcher_text.h"
#include "blobs/tools/helper_templates.h"

namespace hearth::blobs {
namespace {

// A function with more sites than this is compiled without optimisation: compilers need time in the square of its
// length (CK's largest has 10,752 sites in one function: minutes), and all it does is compare a few numbers.
constexpr int kMaxOptimisedSites = 2048;

// Changes of a text, collected in any order.
class Edits {
 public:
  explicit Edits(const CppTokens& tokens) : tokens_(tokens) {}

  // Tokens [begin, end) become `text`, which keeps the line breaks they had.
  void replace(int begin, int end, std::string text) {
    const std::size_t from = offset(begin), until = end_of(end - 1);
    const std::string_view old = tokens_.source.substr(from, until - from);
    text.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    edits_.push_back({from, until, std::move(text)});
  }
  void insert_before(int token, std::string text) { edits_.push_back({offset(token), offset(token), std::move(text)}); }
  void insert_after(int token, std::string text) { edits_.push_back({end_of(token), end_of(token), std::move(text)}); }

  std::string apply(std::size_t begin) {
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.from < b.from; });
    std::string out;
    for (const Edit& edit : edits_) {
      out += tokens_.source.substr(begin, edit.from - begin);
      out += edit.text;
      begin = edit.until;
    }
    out += tokens_.source.substr(begin);
    return out;
  }

 private:
  struct Edit {
    std::size_t from, until;
    std::string text;
  };
  std::size_t offset(int token) const { return tokens_.tokens[static_cast<std::size_t>(token)].begin; }
  std::size_t end_of(int token) const { return offset(token) + tokens_.tokens[static_cast<std::size_t>(token)].size; }

  const CppTokens& tokens_;
  std::vector<Edit> edits_;
};

// Where code begins: the first token that is no directive, or the #if around it.
int first_code(const CppTokens& tokens) {
  std::vector<int> open;
  for (int i = 0; i < tokens.size(); ++i) {
    const CppTokenKind kind = tokens.tokens[static_cast<std::size_t>(i)].kind;
    if (kind == CppTokenKind::kIf) open.push_back(i);
    if (kind == CppTokenKind::kEndif) open.pop_back();
    if (kind < CppTokenKind::kIf) return open.empty() ? i : open.front();
  }
  return tokens.size();
}

class Rewriter {
 public:
  Rewriter(const RewriteInput& input, const CppTokens& tokens, const BlobIndex& index, const DispatcherSites& sites)
      : tokens_(tokens),
        index_(index),
        sites_(sites),
        file_(quoted(input.path)),
        definitions_(outline(tokens)),
        edits_(tokens) {
    shared_ = shared_helpers(tokens_, definitions_, index, sites_);
  }

  std::string run(std::size_t code_begin) {
    std::set<const LeafCall*> done;
    std::set<const HelperCall*> called;
    for (const SharedHelper& helper : shared_) {
      share(helper);
      done.insert(helper.leaf_calls.begin(), helper.leaf_calls.end());
      called.insert(helper.helper_calls.begin(), helper.helper_calls.end());
    }
    for (const LeafCall& call : sites_.calls)
      if (!done.contains(&call))
        edits_.replace(call.begin, call.end, leaf_expression(index_, call.name, call.arguments));
    for (const HelperCall& call : sites_.helper_calls)
      if (!called.contains(&call)) ask_at_once(call);
    for (const CppDefinition& definition : definitions_) leave_unoptimised(definition);
    return edits_.apply(code_begin);
  }

 private:
  void share(const SharedHelper& helper) {
    const CppDefinition& definition = *helper.definition;
    edits_.insert_before(definition.name, kSharedPrefix);
    const bool takes_more = !tokens_.is(definition.open_paren + 1, ")");
    edits_.insert_after(definition.open_paren, str_cat(kGroupParameter, takes_more ? ", " : ""));
    for (const LeafCall* call : helper.leaf_calls) {
      const std::string_view parameter = std::string_view(call->arguments).substr(0, call->arguments.find(','));
      edits_.replace(call->begin, call->end,
                     shared_leaf_expression(index_, call->name, call->arguments, helper.rows.find(parameter)->second));
    }
    // One instance for each way in which types differ that are not blobs'.
    std::map<std::string, std::string> instances;
    for (const HelperCall* call : helper.helper_calls) {
      std::string kind, arguments;
      for (std::size_t k = 0; k < call->arguments.size(); ++k) {
        const HelperCall::Argument& argument = call->arguments[k];
        str_append(&kind, "|", argument.blob >= 0 ? "blob" : argument.type);
        str_append(&arguments, k ? ", " : "", argument.type);
      }
      const std::string& instance = instances.emplace(kind, arguments).first->second;
      const std::string qualifiers = tokens_.joined(call->begin, call->name);
      edits_.replace(
          call->begin, call->close + 1,
          str_cat("::hearth_call<&", qualifiers, kSharedPrefix, tokens_.text(call->name), "<", instance, ">>"));
      const bool has_more = !tokens_.is(call->close + 2, ")");
      edits_.insert_after(call->close + 1, str_cat(group_expression(*call, helper), has_more ? ", " : ""));
    }
  }

  // h<…>(s, a) → (group.want(), h<…>(s, a)), where that is the same.
  void ask_at_once(const HelperCall& call) {
    const auto blobs = std::count_if(call.arguments.begin(), call.arguments.end(),
                                     [](const HelperCall::Argument& argument) { return argument.blob >= 0; });
    if (blobs < 2 || blobs > static_cast<std::ptrdiff_t>(blob::SiteGroup::kMaxBlobs)) return;
    static const std::set<std::string_view> kBefore = {"return", "=", ";", "{", "}", "(", ",", "?", ":"};
    const bool in_body = std::any_of(definitions_.begin(), definitions_.end(), [&](const CppDefinition& definition) {
      return call.begin > definition.open && call.begin < definition.close;
    });
    const int end = tokens_.partner[static_cast<std::size_t>(call.close + 1)];
    if (!in_body || !kBefore.contains(tokens_.text(call.begin - 1)) || end < 0) return;
    edits_.insert_before(call.begin, str_cat("(", group_expression(call), ".want(), "));
    edits_.insert_after(end, ")");
  }

  void leave_unoptimised(const CppDefinition& definition) {
    const auto& at = sites_.site_tokens;
    const auto count = std::lower_bound(at.begin(), at.end(), definition.close) -
                       std::lower_bound(at.begin(), at.end(), definition.open);
    if (count <= kMaxOptimisedSites) return;
    const auto pragma = [&](const char* what, int token) {
      return str_cat("\n#ifdef __clang__\n#pragma clang optimize ", what, "\n#endif\n#line ", tokens_.line(token), " ",
                     file_, "\n");
    };
    edits_.insert_before(definition.begin, pragma("off", definition.begin));
    edits_.insert_after(definition.close, pragma("on", definition.close));
  }

  const CppTokens& tokens_;
  const BlobIndex& index_;
  const DispatcherSites& sites_;
  const std::string file_;
  const std::vector<CppDefinition> definitions_;
  std::vector<SharedHelper> shared_;
  Edits edits_;
};

// The blobs in use, and those that export the same functions for other types.
std::vector<int> named_blobs(const BlobIndex& index, const std::set<int>& used) {
  std::set<std::string_view> names;
  for (const int blob : used)
    for (const BlobLeaf& leaf : index.blobs()[static_cast<std::size_t>(blob)].leaves) names.insert(leaf.name);
  std::vector<int> named;
  for (int blob = 0; blob < static_cast<int>(index.blobs().size()); ++blob) {
    const std::vector<BlobLeaf>& leaves = index.blobs()[static_cast<std::size_t>(blob)].leaves;
    if (std::all_of(leaves.begin(), leaves.end(), [&](const BlobLeaf& leaf) { return names.contains(leaf.name); }))
      named.push_back(blob);
  }
  return named;
}

}  // namespace

absl::StatusOr<RewrittenDispatcher> rewrite_dispatcher(const RewriteInput& input) {
  HEARTH_ASSIGN_OR_RETURN(CppTokens tokens, read_cpp_tokens(input.path, input.source));
  HEARTH_ASSIGN_OR_RETURN(BlobIndex index, BlobIndex::make(input.blobs));
  HEARTH_ASSIGN_OR_RETURN(DispatcherSites found, find_sites(input.path, tokens, index));

  RewrittenDispatcher out;
  out.exports = index.exports();
  BlobRows rows;
  for (const int blob : found.blobs) {
    rows.emplace(blob, static_cast<int>(rows.size()));
    out.stems.insert(index.blobs()[static_cast<std::size_t>(blob)].stem);
  }
  const std::string head = str_cat("#line 1 ", quoted(input.path), "\n");
  const std::vector<int> named = named_blobs(index, found.blobs);
  out.names_source = str_cat(head, input.source, names_table(index, named));
  for (const int blob : named)
    for (const BlobLeaf& leaf : index.blobs()[static_cast<std::size_t>(blob)].leaves)
      out.names.push_back({index.blobs()[static_cast<std::size_t>(blob)].stem, leaf.name});

  const int code = first_code(tokens);
  const bool has_code = code < tokens.size();
  const std::size_t code_begin = has_code ? tokens.tokens[static_cast<std::size_t>(code)].begin : input.source.size();
  const int code_line = has_code ? tokens.line(code) : 1;
  str_append(&out.source, head, input.source.substr(0, code_begin));
  if (!rows.empty())
    str_append(&out.source, "\n#line 1 \"hearth: blobs of the dispatcher\"\n", preamble(index, rows), "#line ",
               code_line, " ", quoted(input.path), "\n");
  out.source += Rewriter(input, tokens, index, found).run(code_begin);
  out.sites = std::move(found.sites);
  return out;
}

}  // namespace hearth::blobs
