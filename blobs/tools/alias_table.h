// AliasTable: the type aliases that are visible at a place of a source, and the one spelling of a type they lead to.
//
// canonical() follows aliases, drops white space and comments, folds integer expressions, std::conditional_t and
// std::is_same_v: two aliases of one type become the same text. Not thread-safe; refers to the tokens it is given.
// Errors: InvalidArgument naming file, line and alias when a scope defines one alias in two ways.
//   AliasTable aliases("fmha_fwd_api.cpp", tokens);
//   aliases.declare("trait_", begin, end, depth);                 // using trait_ = [begin, end);
//   aliases.canonical(i, j).text;                                 // "fmha_fwd_traits_<32,ck_tile::fp16_t,…>"
#pragma once
#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blobs/tools/cpp_tokens.h"

namespace hearth::blobs {

struct CanonicalType {
  std::string text;
  bool dependent = false;  // on a template parameter that is in scope
  std::string unknown;     // a name that speaks of traits and is neither an alias nor a parameter here
  std::string ambiguous;   // an alias whose meaning depends on an #if, or that grew too long to be followed
};

class AliasTable {
 public:
  AliasTable(std::string_view file, const CppTokens& tokens) : file_(file), tokens_(tokens) {}

  // `name` stands for the tokens [begin, end) from here to the end of the scope of that depth.
  absl::Status declare(std::string_view name, int begin, int end, int depth);
  void declare_parameter(std::string_view name, int depth);

  // Everything declared after mark() was taken is forgotten by rewind(mark).
  std::size_t mark() const { return order_.size(); }
  void rewind(std::size_t mark);

  // The branches of a conditional: what a branch declared is set aside at its end and, after the last one, declared
  // again; an alias that then has two meanings is ambiguous.
  struct SetAside {
    std::string_view name;
    int depth;
    int line;
    CanonicalType type;
  };
  void set_aside(std::size_t mark, std::vector<SetAside>* out);
  void restore(std::vector<SetAside> branches);

  CanonicalType canonical(int begin, int end) const;
  // The arguments of the list that opens at `open` and closes at `close` (both angles), as ranges of tokens and as
  // types.
  std::vector<std::pair<int, int>> argument_ranges(int open, int close) const;
  std::vector<CanonicalType> arguments(int open, int close) const;

 private:
  struct Entry {
    CanonicalType type;
    int depth;
    int line;
    bool parameter;
  };
  void push(std::string_view name, Entry entry);
  const Entry* find(std::string_view name) const;
  void append(int begin, int end, CanonicalType* out) const;
  int append_name(int i, int end, CanonicalType* out) const;
  CanonicalType argument(int begin, int end) const;

  std::string file_;
  const CppTokens& tokens_;
  std::unordered_map<std::string_view, std::vector<Entry>> entries_;
  std::vector<std::string_view> order_;  // names in the order of their declaration
};

}  // namespace hearth::blobs
