#include "blobs/tools/cpp_tokens.h"

#include <catch2/catch.hpp>

using Catch::Contains;
using namespace hearth::blobs;

namespace {

std::string words(std::string_view source) {
  const auto tokens = read_cpp_tokens("a.cpp", source);
  REQUIRE(tokens.ok());
  std::string out;
  for (int i = 0; i < tokens->size(); ++i) {
    const CppTokenKind kind = tokens->tokens[i].kind;
    if (i > 0) out += ' ';
    if (kind == CppTokenKind::kIf) out += "IF";
    if (kind == CppTokenKind::kElse) out += "ELSE";
    if (kind == CppTokenKind::kEndif) out += "ENDIF";
    if (kind < CppTokenKind::kIf) out += tokens->text(i);
  }
  return out;
}

std::string error(std::string_view source) {
  const auto tokens = read_cpp_tokens("a.cpp", source);
  CHECK_FALSE(tokens.ok());
  return std::string(tokens.status().message());
}

}  // namespace

TEST_CASE("comments, literals and directives are told from code") {
  CHECK(words("a /* { */ b // (\nc") == "a b c");
  CHECK(words("f(\"}\\\"//\", '\\'', '\"')") == "f ( \"}\\\"//\" , '\\'' , '\"' )");
  CHECK(words("R\"x(a)\" }{)x\" y") == "R\"x(a)\" }{)x\" y");
  CHECK(words("u8\"a\" L'b' x") == "u8\"a\" L'b' x");
  CHECK(words("#define A { \\\n ( \nx") == "x");
  CHECK(words("#define A /* two\nlines */ {\nx") == "x");
  CHECK(words("a // goes on \\\n here\nb") == "a b");
  CHECK(words("1'000u 0x1e+2 1e+2 .5") == "1'000u 0x1e + 2 1e+2 .5");
  CHECK(words("a<b<c>>d::e->f<<g") == "a < b < c > > d :: e -> f << g");
}

TEST_CASE("what #if 0 hides is left out, other branches are kept") {
  CHECK(words("#if 0\nit's {\n#else\na\n#endif\nb") == "IF ELSE a ENDIF b");
  CHECK(words("#if 1\na\n#else\n}{\n#endif") == "IF a ELSE ENDIF");
  CHECK(words("#ifdef X\na\n#elif Y\nb\n#endif") == "IF a ELSE b ENDIF");
  CHECK(words("#if 0\n#if A\nx\n#else\ny\n#endif\n#endif\nz") == "IF IF ELSE ENDIF ENDIF z");
  CHECK(words("# if 0 // why\nx\n# endif\ny") == "IF ENDIF y");
}

TEST_CASE("brackets find each other, also across branches") {
  const auto tokens = read_cpp_tokens("a.cpp", "f(a[1]){\n#if X\nif (a) {\n#else\nif (b) {\n#endif\n}}");
  REQUIRE(tokens.ok());
  CHECK(tokens->partner[1] == 6);
  CHECK(tokens->partner[6] == 1);
  CHECK(tokens->partner[3] == 5);
}

TEST_CASE("lines are those of the source") {
  const auto tokens = read_cpp_tokens("a.cpp", "/*\n*/a\\\n\n#define X \\\n y\n\"t\" R\"(\n\n)\" b\r\nc");
  REQUIRE(tokens.ok());
  std::vector<int> lines;
  for (int i = 0; i < tokens->size(); ++i) lines.push_back(tokens->line(i));
  CHECK(lines == std::vector<int>{2, 6, 6, 8, 9});
}

TEST_CASE("a list of template arguments is told from a comparison") {
  const auto tokens = read_cpp_tokens("a.cpp", "f<a, b<c>, (d > e)>(x) y < z && w; v");
  REQUIRE(tokens.ok());
  CHECK(tokens->closing_angle(1, tokens->size()) == 14);
  const int comparison = 19;
  REQUIRE(tokens->is(comparison, "<"));
  CHECK(tokens->closing_angle(comparison, tokens->size()) == -1);
}

TEST_CASE("broken text is refused with its place") {
  CHECK_THAT(error("a\n/* b"), Contains("a.cpp:2") && Contains("comment"));
  CHECK_THAT(error("a\n\"b\nc"), Contains("a.cpp:2") && Contains("literal"));
  CHECK_THAT(error("\n\nR\"x(b"), Contains("a.cpp:3") && Contains("raw string"));
  CHECK_THAT(error("f(\n{)"), Contains("a.cpp:2") && Contains("does not close"));
  CHECK_THAT(error("f(\n{"), Contains("a.cpp:2") && Contains("not closed"));
  CHECK_THAT(error("\n}"), Contains("a.cpp:2") && Contains("closes nothing"));
  CHECK_THAT(error("\n#if X\na"), Contains("a.cpp:2") && Contains("#endif"));
  CHECK_THAT(error("a\n#endif"), Contains("a.cpp:2") && Contains("no #if"));
  CHECK_THAT(error("a\n#else"), Contains("a.cpp:2") && Contains("no #if"));
  CHECK_THAT(error(std::string(200000, '(')), Contains("nested deeper"));
  std::string conditionals;
  for (int i = 0; i < 5000; ++i) conditionals += "#if A\n";
  CHECK_THAT(error(conditionals), Contains("nested deeper"));
}
