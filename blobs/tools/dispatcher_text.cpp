#include "blobs/tools/dispatcher_text.h"

#include <algorithm>

#include "base/text.h"
#include "blobs/tools/list_digest.h"

namespace hearth::blobs {
namespace {

constexpr char kHead[] = R"(#include "hearth_blob.h"
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#endif
extern __attribute__((visibility("hidden"))) const ::hearth::blob::Library hearth_blob_library;
namespace {
constexpr ::hearth::blob::Dispatcher hearth_dispatcher{&hearth_blob_library, @LIST@};
template <typename... Types>
inline constexpr bool hearth_has_blob = false;
// The row of the blob of that family of functions that is for these types, and the columns of its exports.
template <unsigned Family, typename... Types>
struct hearth_blob {
  static_assert(hearth_has_blob<Types...>, "no blob is for this type: the rewritten dispatcher does not know it");
};
)";

constexpr std::string_view kListMark = "@LIST@";

// Calls of helpers go through hearth_call: one copy of their arguments in the code instead of one a call.
constexpr char kTail[] = R"(constexpr unsigned hearth_no_blob = ~0u;
template <typename>
constexpr unsigned hearth_absent = hearth_no_blob;  // names the type, so that its alias is used
template <unsigned... Rows>
::hearth::blob::SiteGroup hearth_group{(Rows == hearth_no_blob ? nullptr : hearth_sites[Rows == hearth_no_blob ? 0 : Rows])...};
template <auto Function, typename... Arguments>
[[maybe_unused]] __attribute__((noinline)) decltype(auto) hearth_call(::hearth::blob::SiteGroup& group,
                                                                     Arguments&&... arguments) {
  group.want();
  return Function(&group, static_cast<Arguments&&>(arguments)...);
}
}  // namespace
)";

bool is_value(const std::string& argument) {
  return argument.empty() || (argument[0] >= '0' && argument[0] <= '9') || argument[0] == '-' || argument == "true" ||
         argument == "false";
}

std::size_t most_exports(const BlobIndex& index, const BlobRows& rows) {
  std::size_t most = 1;
  for (const auto& [blob, row] : rows)
    most = std::max(most, index.blobs()[static_cast<std::size_t>(blob)].leaves.size());
  return most;
}

std::string sites(const BlobIndex& index, const BlobRows& rows) {
  std::string text = str_cat("[[maybe_unused]] ::hearth::blob::Site hearth_sites[", rows.size(), "][",
                             most_exports(index, rows), "] = {\n");
  const std::size_t columns = most_exports(index, rows);
  for (const auto& [blob, row] : rows) {
    text += "    {";
    for (std::size_t k = 0; k < columns; ++k)
      str_append(&text, k ? ", " : "", "{&hearth_dispatcher, ", blob, ", ", k, "}");
    str_append(&text, "},  // ", index.blobs()[static_cast<std::size_t>(blob)].stem, "\n");
  }
  return text + "};\n";
}

std::string specialisations(const BlobExports& blob, int family, int row) {
  std::map<std::string, std::string> columns;  // by key; nearly always one
  for (std::size_t k = 0; k < blob.leaves.size(); ++k)
    str_append(&columns[blob.leaves[k].key], ", export_", unqualified(blob.leaves[k].name), " = ", k);
  std::string text;
  for (const auto& [key, exports] : columns)
    str_append(&text, "template <>\nstruct hearth_blob<", family, ", ", key, "> {  // ", blob.stem,
               "\n  enum : unsigned { row = ", row, exports, " };\n};\n");
  return text;
}

// The row and columns of the blob that defines that function for these types.
std::string blob_of(const BlobIndex& index, const std::string& name, const std::string& arguments) {
  return str_cat("::hearth_blob<", index.family(unqualified(name)), ", ", arguments, ">");
}

// A definition of the leaf's template, for code outside the dispatcher that calls it.
std::string definition(const BlobIndex& index, const BlobLeaf& leaf) {
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
  const std::string text =
      str_cat("template <", parameters, ">\n__attribute__((visibility(\"hidden\"))) ", leaf.result, " ", name, "(",
              given, ") {\n  return ", leaf_expression(index, name, types), "(", passed, ");\n}\n");
  const std::size_t spaces = leaf.name.size() - name.size();
  if (spaces == 0) return text;
  return str_cat("namespace ", leaf.name.substr(0, spaces - 2), " {\n", text, "}\n");
}

std::string row_of(const HelperCall::Argument& argument) {
  return argument.blob < 0 ? str_cat("::hearth_absent<", argument.written, ">")
                           : str_cat("::hearth_blob<", argument.family, ", ", argument.key, ">::row");
}

}  // namespace

std::string quoted(const std::string& path) {
  std::string out = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\n' && c != '\r') out += c;
  }
  return out + "\"";
}

std::string leaf_expression(const BlobIndex& index, const std::string& name, const std::string& arguments) {
  const std::string blob = blob_of(index, name, arguments);
  return str_cat("(*reinterpret_cast<decltype(&", name, "<", arguments, ">)>(::hearth_sites[", blob, "::row][", blob,
                 "::export_", unqualified(name), "].get()))");
}

std::string shared_leaf_expression(const BlobIndex& index, const std::string& name, const std::string& arguments,
                                   int row) {
  return str_cat("(*reinterpret_cast<decltype(&", name, "<", arguments, ">)>(hearth_group_of_call->site(", row, ", ",
                 blob_of(index, name, arguments), "::export_", unqualified(name), ").get()))");
}

std::string group_expression(const HelperCall& call) {
  std::string rows;
  for (const HelperCall::Argument& argument : call.arguments)
    if (argument.blob >= 0) str_append(&rows, rows.empty() ? "" : ", ", row_of(argument));
  return str_cat("::hearth_group<", rows, ">");
}

std::string group_expression(const HelperCall& call, const SharedHelper& helper) {
  std::string rows;
  for (std::size_t k = 0; k < call.arguments.size(); ++k)
    if (helper.rows.contains(helper.definition->type_parameters[k]))
      str_append(&rows, rows.empty() ? "" : ", ", row_of(call.arguments[k]));
  return str_cat("::hearth_group<", rows, ">");
}

std::string preamble(const BlobIndex& index, const BlobRows& rows) {
  std::string text = kHead;
  text.replace(text.find(kListMark), kListMark.size(), list_digest_literal(index.exports()));
  text += sites(index, rows);
  std::map<std::string, const BlobLeaf*> leaves;
  for (const auto& [blob, row] : rows) {
    const BlobExports& exports = index.blobs()[static_cast<std::size_t>(blob)];
    text += specialisations(exports, index.family_of(blob), row);
    for (const BlobLeaf& leaf : exports.leaves) leaves.emplace(leaf.name, &leaf);
  }
  text += kTail;
  for (const auto& [name, leaf] : leaves)
    if (leaf->forwardable && std::none_of(leaf->arguments.begin(), leaf->arguments.end(), is_value))
      text += definition(index, *leaf);
  return text + "#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n";
}

std::string names_table(const BlobIndex& index, const std::vector<int>& blobs) {
  std::string text = str_cat("\n#line 1 \"hearth: names of the blobs' functions\"\n__attribute__((used, section(\"",
                             kNamesSection, "\"))) extern const void* const hearth_named_functions[] = {\n");
  for (const int blob : blobs)
    for (const BlobLeaf& leaf : index.blobs()[static_cast<std::size_t>(blob)].leaves)
      str_append(&text, "    reinterpret_cast<const void*>(&::", leaf.name, "<", leaf.key, ">),\n");
  return text + "    nullptr};\n";
}

}  // namespace hearth::blobs
