#include "compiler/blobs/dispatcher_rewriter.h"

#include <algorithm>

#include "compiler/blobs/blob_index.h"
#include "compiler/blobs/cpp_tokens.h"
#include "compiler/blobs/dispatcher_sites.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

constexpr char kPreamble[] = R"(#include "hearth_blob.h"
extern __attribute__((visibility("hidden"))) const ::hearth::blob::Library hearth_blob_library;
namespace {
template <typename... Types>
inline constexpr bool hearth_has_blob = false;
// The exports of the blob that is for these types.
template <typename... Types>
struct hearth_blob_site {
  static_assert(hearth_has_blob<Types...>, "no blob is for this type: the rewritten dispatcher does not know it");
};
)";

// As a string literal of #line.
std::string quoted(const std::string& path) {
  std::string out = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\n' && c != '\r') out += c;
  }
  return out + "\"";
}

// Where code begins: the first token that is no directive, or the #if around it.
int first_code(const CppTokens& tokens) {
  std::vector<int> open;
  for (int i = 0; i < tokens.size(); ++i) {
    const CppTokenKind kind = tokens.tokens[i].kind;
    if (kind == CppTokenKind::kIf) open.push_back(i);
    if (kind == CppTokenKind::kEndif) open.pop_back();
    if (kind < CppTokenKind::kIf) return open.empty() ? i : open.front();
  }
  return tokens.size();
}

bool is_value(const std::string& argument) {
  return argument.empty() || (argument[0] >= '0' && argument[0] <= '9') || argument[0] == '-' || argument == "true" ||
         argument == "false";
}

// A definition of the leaf's template, for code outside the dispatcher that calls it.
std::string definition(const BlobLeaf& leaf) {
  std::string parameters, types, given, passed;
  for (std::size_t i = 0; i < leaf.arguments.size(); ++i) {
    str_append(&parameters, i ? ", " : "", "typename Hearth", i);
    str_append(&types, i ? ", " : "", "Hearth", i);
  }
  for (std::size_t i = 0; i < leaf.parameters.size(); ++i) {
    str_append(&given, i ? ", " : "", leaf.parameters[i], " hearth_", i);
    str_append(&passed, i ? ", " : "", "static_cast<decltype(hearth_", i, ")&&>(hearth_", i, ")");
  }
  const std::string name(unqualified(leaf.name));
  std::string text = str_cat("template <", parameters, ">\n__attribute__((visibility(\"hidden\"))) ", leaf.result, " ",
                             name, "(", given, ") {\n  return (*reinterpret_cast<decltype(&", name, "<", types,
                             ">)>(::hearth_blob_site<", types, ">::", name, ".get()))(", passed, ");\n}\n");
  const std::size_t spaces = leaf.name.size() - name.size();
  if (spaces == 0) return text;
  return str_cat("namespace ", leaf.name.substr(0, spaces - 2), " {\n", text, "}\n");
}

std::string preamble(const BlobIndex& index, const std::set<int>& used) {
  std::string text = kPreamble;
  std::map<std::string, const BlobLeaf*> leaves;
  for (const int number : used) {
    const BlobExports& blob = index.blobs()[number];
    std::map<std::string, std::string> members;  // by key; nearly always one
    for (std::size_t k = 0; k < blob.leaves.size(); ++k) {
      const BlobLeaf& leaf = blob.leaves[k];
      str_append(&members[leaf.key], "  [[maybe_unused]] static inline ::hearth::blob::Site ", unqualified(leaf.name),
                 "{&hearth_blob_library, ", number, ", ", k, "};\n");
      leaves.emplace(leaf.name, &leaf);
    }
    for (const auto& [key, sites] : members)
      str_append(&text, "template <>\nstruct hearth_blob_site<", key, "> {  // ", blob.stem, "\n", sites, "};\n");
  }
  text += "}  // namespace\n";
  for (const auto& [name, leaf] : leaves)
    if (leaf->forwardable && std::none_of(leaf->arguments.begin(), leaf->arguments.end(), is_value))
      text += definition(*leaf);
  return text;
}

// The source with the calls replaced, from `begin` on; a replaced call keeps the line breaks it had.
std::string replaced(const CppTokens& tokens, const std::vector<LeafCall>& calls, std::size_t begin) {
  std::string out;
  std::size_t at = begin;
  for (const LeafCall& call : calls) {
    const std::size_t from = tokens.tokens[call.begin].begin;
    const CppToken& last = tokens.tokens[call.end - 1];
    const std::size_t until = last.begin + last.size;
    out += tokens.source.substr(at, from - at);
    str_append(&out, "(*reinterpret_cast<decltype(&", call.name, "<", call.arguments, ">)>(::hearth_blob_site<",
               call.arguments, ">::", unqualified(call.name), ".get()))");
    const std::string_view old = tokens.source.substr(from, until - from);
    out.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    at = until;
  }
  out += tokens.source.substr(at);
  return out;
}

}  // namespace

absl::StatusOr<RewrittenDispatcher> rewrite_dispatcher(const RewriteInput& input) {
  absl::StatusOr<CppTokens> tokens = read_cpp_tokens(input.path, input.source);
  if (!tokens.ok()) return tokens.status();
  absl::StatusOr<BlobIndex> index = BlobIndex::make(input.blobs);
  if (!index.ok()) return index.status();
  absl::StatusOr<DispatcherSites> found = find_sites(input.path, *tokens, *index);
  if (!found.ok()) return found.status();

  RewrittenDispatcher out;
  for (const BlobExports& blob : index->blobs())
    for (const BlobLeaf& leaf : blob.leaves) out.exports[blob.stem].push_back(leaf.prefix);
  out.sites = std::move(found->sites);

  const int code = first_code(*tokens);
  const std::size_t code_begin = code < tokens->size() ? tokens->tokens[code].begin : input.source.size();
  const int code_line = code < tokens->size() ? tokens->line(code) : 1;
  const std::string file = quoted(input.path);
  str_append(&out.source, "#line 1 ", file, "\n", input.source.substr(0, code_begin));
  if (!found->blobs.empty()) {
    str_append(&out.source, "\n#line 1 \"hearth: blobs of the dispatcher\"\n", preamble(*index, found->blobs), "#line ",
               code_line, " ", file, "\n");
  }
  out.source += replaced(*tokens, found->calls, code_begin);
  return out;
}

}  // namespace hearth::blobs
