// CppOutline: the definitions of a source that have a body and stand at namespace scope, as ranges of tokens.
//
// Function templates are told from the rest, with what a rewriter needs to know of their heads. Bodies of namespaces
// and of extern "C" are looked into, other bodies are not. Plain values that point into the tokens. No errors: what is
// not understood is a definition of no special kind. Example:
//   for (const CppDefinition& definition : outline(tokens)) use(definition.begin, definition.close);
#pragma once
#include <string_view>
#include <vector>

#include "blobs/tools/cpp_tokens.h"

namespace hearth::blobs {

struct CppDefinition {
  int begin = 0;  // the first token of the declaration
  int open = 0;   // of the body: {
  int close = 0;  // }
  // A function template's parameters where all are types; empty for anything else.
  std::vector<std::string_view> type_parameters;
  int name = -1;        // its unqualified name
  int open_paren = -1;  // of its parameters
  bool is_function_template() const { return !type_parameters.empty(); }
};

std::vector<CppDefinition> outline(const CppTokens& tokens);

}  // namespace hearth::blobs
