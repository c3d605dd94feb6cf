// CppTokens: C++ source as tokens with lines and matched brackets, enough to read generated dispatchers and blobs.
//
// Comments, white space and directives are left out; what `#if 0` hides too. Both branches of any other conditional are
// kept and marked, and each begins with the brackets that were open at its #if. `>` is always a token of its own, so
// that template lists close one by one. Plain values that point into `source`, which must outlive them. Linear time.
// Errors: InvalidArgument naming file and line (an unterminated comment or literal, an unbalanced bracket or #if).
//   absl::StatusOr<CppTokens> tokens = read_cpp_tokens("fmha_fwd_api.cpp", text);
//   if (tokens->is(i, "using") && tokens->is(i + 2, "=")) …
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

enum class CppTokenKind : std::uint8_t {
  kName,    // identifiers and keywords
  kNumber,  // any pp-number
  kText,    // string and character literals
  kSign,    // operators and brackets
  kIf,      // #if, #ifdef, #ifndef
  kElse,    // #elif, #else
  kEndif,
};

struct CppToken {
  CppTokenKind kind;
  std::uint32_t begin;  // offset in the source
  std::uint32_t size;
  std::uint32_t line;  // from 1
};

struct CppTokens {
  std::string_view source;
  std::vector<CppToken> tokens;
  std::vector<int> partner;  // of ( [ { and ) ] }: the index of the other one, else -1

  int size() const { return static_cast<int>(tokens.size()); }
  std::string_view text(int i) const {
    return i >= 0 && i < size() ? source.substr(tokens[i].begin, tokens[i].size) : std::string_view();
  }
  bool is(int i, std::string_view text_) const { return text(i) == text_; }
  bool is_name(int i) const { return i >= 0 && i < size() && tokens[i].kind == CppTokenKind::kName; }
  int line(int i) const { return i >= 0 && i < size() ? static_cast<int>(tokens[i].line) : 0; }

  // The index of the `>` that closes the `<` at `open`, looking no further than `end`; -1 when it closes nothing (a
  // comparison) or too far away to be a list of template arguments.
  int closing_angle(int open, int end) const;
  // The tokens [begin, end) on one line, a space where two words would run together.
  std::string joined(int begin, int end) const;
};

absl::StatusOr<CppTokens> read_cpp_tokens(std::string_view name_for_errors, std::string_view source);

// Appends `text` to `out`, with a space between when both sides are words.
void append_cpp_text(std::string* out, std::string_view text);

}  // namespace hearth::blobs
