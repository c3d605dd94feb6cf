// CppWalker: goes once through a generated source and keeps track of scopes, namespaces, template parameters, aliases
// and `if constexpr` branches that are known to be discarded; a subclass sees the names and the explicit
// specialisations between them. Not thread-safe. Errors: those of AliasTable and of the subclass.
//   class Finder : public CppWalker { absl::StatusOr<int> on_name(int i) override; … };
//   absl::Status walked = Finder("a.cpp", tokens).walk();
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "blobs/tools/alias_table.h"
#include "blobs/tools/cpp_tokens.h"

namespace hearth::blobs {

// What `template <>` begins: a function when `name` is not negative.
struct Specialisation {
  int begin = 0;        // the first token after template <>
  int name = -1;        // the function's unqualified name
  int name_begin = -1;  // its first qualifier, or `name`
  int open_angle = -1, close_angle = -1;
  int open_paren = -1;  // of the parameters
  int end = 0;          // where reading goes on: the parameters, or what ends the head of something else
};

class CppWalker {
 public:
  CppWalker(std::string_view file, const CppTokens& tokens) : file_(file), tokens_(tokens), aliases_(file, tokens) {}
  virtual ~CppWalker() = default;

  absl::Status walk();

 protected:
  // A name that is not part of what the walker understands itself; gives the index to go on at, at least i + 1.
  virtual absl::StatusOr<int> on_name(int i) { return i + 1; }
  // Gives the index to go on at.
  virtual absl::StatusOr<int> on_specialisation(const Specialisation& head) { return head.end; }

  bool at_namespace_scope() const { return inner_ == 0; }
  // The enclosing namespaces, outermost first; "" is an unnamed one.
  std::vector<std::string> namespaces() const;
  std::string where(int i) const;

  std::string file_;
  const CppTokens& tokens_;
  AliasTable aliases_;

 private:
  enum class ScopeKind { kNamespace, kLinkage, kBrace, kOther, kTemplate };
  struct Scope {
    ScopeKind kind;
    std::size_t mark;
    std::string name;  // of a namespace
  };
  struct Conditional {
    std::vector<Scope> scopes;
    int inner;
    std::size_t mark;
    std::vector<AliasTable::SetAside> branches;
  };

  absl::StatusOr<int> step(int i);
  void directive(int i);
  void open(int i);
  void close(int i);
  static bool is_inner(ScopeKind kind) { return kind != ScopeKind::kNamespace && kind != ScopeKind::kLinkage; }
  void push(ScopeKind kind, std::string name = {});
  void pop();
  int depth() const { return static_cast<int>(scopes_.size()); }
  absl::StatusOr<int> template_head(int i);
  absl::StatusOr<int> using_alias(int i);
  void discard(int i);
  int statement_end(int i, int nested) const;
  int find_semicolon(int i) const;

  std::vector<Scope> scopes_;
  int inner_ = 0;  // scopes that are not namespaces
  std::vector<Conditional> conditionals_;
  std::map<int, int> discarded_;  // ranges of tokens that are not compiled
};

}  // namespace hearth::blobs
