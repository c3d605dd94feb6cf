#include "blobs/tools/blob_exports.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/cpp_walker.h"

namespace hearth::blobs {
namespace {

std::vector<std::string> split_namespace(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find("::", begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

// Itanium C++ ABI 5.1.2: an unscoped name is its length and itself, a nested one these between N and E.
std::string mangled_prefix(const std::vector<std::string>& path) {
  std::string prefix = path.size() > 1 ? "_ZN" : "_Z";
  for (const std::string& part : path) str_append(&prefix, part.size(), part);
  return prefix + "I";
}

// The name of a parameter is the word at its end when a type stands before it.
bool ends_with_name(const CppTokens& tokens, int begin, int end) {
  if (end - begin < 2 || !tokens.is_name(end - 1)) return false;
  const std::string_view before = tokens.text(end - 2);
  if (before == "::" || before == "const" || before == "volatile" || before == "struct" || before == "class" ||
      before == "enum" || before == "typename" || before == "unsigned" || before == "signed" || before == "long")
    return false;
  const std::string_view last = tokens.text(end - 1);
  return last != "const" && last != "volatile" && last != "int" && last != "long" && last != "char";
}

class ExportFinder : public CppWalker {
 public:
  ExportFinder(std::string_view file, const CppTokens& tokens) : CppWalker(file, tokens) {}
  std::vector<BlobLeaf> leaves;

 protected:
  absl::StatusOr<int> on_specialisation(const Specialisation& head) override {
    if (head.name < 0 || !at_namespace_scope()) return head.end;
    const int close = tokens_.partner[head.open_paren];
    int body = close + 1;
    if (tokens_.is(body, "noexcept")) body += tokens_.is(body + 1, "(") ? tokens_.partner[body + 1] - body + 1 : 1;
    if (close < 0 || !tokens_.is(body, "{") || tokens_.partner[body] < body) return head.end;  // only declared
    const int end = tokens_.partner[body];
    for (int i = head.begin; i < head.name_begin; ++i)
      if (tokens_.is(i, "static") || tokens_.is(i, "inline") || tokens_.is(i, "constexpr")) return end;
    std::vector<std::string> path;
    for (const std::string& space : namespaces()) {
      if (space.empty()) return end;  // unnamed: not exported
      for (std::string& part : split_namespace(space)) path.push_back(std::move(part));
    }
    for (int i = head.name_begin; i <= head.name; i += 2) path.emplace_back(tokens_.text(i));
    BlobLeaf leaf;
    for (const std::string& part : path) str_append(&leaf.name, leaf.name.empty() ? "" : "::", part);
    leaf.prefix = mangled_prefix(path);
    for (const CanonicalType& type : aliases_.arguments(head.open_angle, head.close_angle)) {
      if (!type.ambiguous.empty())
        return absl::FailedPreconditionError(
            str_cat(where(head.name), ": the type of ", leaf.name, " cannot be followed: ", type.ambiguous));
      if (!type.unknown.empty())
        return absl::FailedPreconditionError(str_cat(where(head.name), ": ", leaf.name, "<", type.text,
                                                     ">: ", type.unknown, " is not an alias of this file"));
      str_append(&leaf.key, leaf.key.empty() ? "" : ",", type.text);
      leaf.arguments.push_back(type.text);
    }
    leaf.result = tokens_.joined(head.begin, head.name_begin);
    read_parameters(head.open_paren + 1, close, &leaf);
    for (const BlobLeaf& other : leaves)
      if (other.prefix == leaf.prefix)
        return absl::FailedPreconditionError(
            str_cat(where(head.name), ": ", leaf.name, " is specialised twice in one blob, for ", other.key, " and ",
                    leaf.key, "; a symbol is found by its name only, so each needs a blob of its own"));
    leaves.push_back(std::move(leaf));
    return end;
  }

 private:
  void read_parameters(int begin, int end, BlobLeaf* leaf) const {
    int from = begin;
    for (int i = begin; i <= end; ++i) {
      if (i == end || tokens_.is(i, ",")) {
        if (from == i) break;  // ()
        const int until = ends_with_name(tokens_, from, i) ? i - 1 : i;
        leaf->parameters.push_back(tokens_.joined(from, until));
        if (tokens_.is(i - 1, "]") || tokens_.is(i - 1, ")") || tokens_.is(i - 1, ".")) leaf->forwardable = false;
        if (i - from == 1 && tokens_.is(from, "void")) leaf->parameters.pop_back();
        from = i + 1;
      } else if (tokens_.partner[i] > i) {
        i = tokens_.partner[i];
      } else if (tokens_.is(i, "<")) {
        const int close = tokens_.closing_angle(i, end);
        if (close > 0) i = close;
      }
    }
  }
};

}  // namespace

absl::StatusOr<BlobExports> read_blob_exports(std::string_view stem, std::string_view source) {
  const std::string file = str_cat(stem, ".cpp");
  HEARTH_ASSIGN_OR_RETURN(CppTokens tokens, read_cpp_tokens(file, source));
  ExportFinder finder(file, tokens);
  HEARTH_RETURN_IF_ERROR(finder.walk());
  if (finder.leaves.empty())
    return absl::FailedPreconditionError(
        str_cat(file,
                ": has no explicit specialisation of a function, so it exports nothing that can be called; is it "
                "a blob?"));
  return BlobExports{std::string(stem), std::move(finder.leaves)};
}

}  // namespace hearth::blobs
