#include "blobs/tools/cpp_outline.h"

namespace hearth::blobs {
namespace {

bool opens_namespace(const CppTokens& tokens, int open) {
  int i = open - 1;
  while (tokens.is_name(i) && !tokens.is(i, "namespace") && tokens.is(i - 1, "::")) i -= 2;
  if (tokens.is_name(i) && !tokens.is(i, "namespace")) --i;
  return tokens.is(i, "namespace") || tokens.is(open - 2, "extern");
}

// `typename A, class B`: the names, or nothing when a parameter is anything else.
std::vector<std::string_view> type_parameters(const CppTokens& tokens, int open, int close) {
  std::vector<std::string_view> names;
  for (int i = open + 1; i < close; i += 3) {
    const bool is_type = tokens.is(i, "typename") || tokens.is(i, "class");
    if (!is_type || !tokens.is_name(i + 1) || (i + 2 != close && !tokens.is(i + 2, ","))) return {};
    names.push_back(tokens.text(i + 1));
  }
  return names;
}

void read_template_head(const CppTokens& tokens, CppDefinition* definition) {
  if (!tokens.is(definition->begin, "template") || !tokens.is(definition->begin + 1, "<")) return;
  const int close = tokens.closing_angle(definition->begin + 1, definition->open);
  if (close < 0) return;
  for (int i = close + 1; i < definition->open; ++i) {
    if (tokens.is(i, "<")) {
      const int end = tokens.closing_angle(i, definition->open);
      if (end < 0) return;
      i = end;
    } else if (tokens.is(i, "(")) {
      const bool names_function = tokens.is_name(i - 1) && !tokens.is(i - 1, "__attribute__");
      if (!names_function) {  // an attribute's
        if (tokens.partner[i] < i) return;
        i = tokens.partner[i];
        continue;
      }
      definition->name = i - 1;
      definition->open_paren = i;
      definition->type_parameters = type_parameters(tokens, definition->begin + 1, close);
      return;
    }
  }
}

}  // namespace

std::vector<CppDefinition> outline(const CppTokens& tokens) {
  std::vector<CppDefinition> definitions;
  int begin = 0;
  for (int i = 0; i < tokens.size(); ++i) {
    if (tokens.tokens[i].kind >= CppTokenKind::kIf || tokens.is(i, ";") || tokens.is(i, "}")) {
      begin = i + 1;
    } else if (tokens.is(i, "{")) {
      const int close = tokens.partner[i];
      if (opens_namespace(tokens, i) || close < i) {
        begin = i + 1;
        continue;
      }
      CppDefinition& definition = definitions.emplace_back();
      definition.begin = begin;
      definition.open = i;
      definition.close = close;
      read_template_head(tokens, &definition);
      i = close;
      begin = i + 1;
    }
  }
  return definitions;
}

}  // namespace hearth::blobs
