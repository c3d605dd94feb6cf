// Text from outside: what terminals obey comes out as escapes, what people read stays.
#include "runtime/printable.h"

#include <catch2/catch.hpp>

using namespace hearth;

TEST_CASE("letters of any language, emoji and backslashes stay") {
  for (const char* text : {"", "conv1/Relu:0", "выход", "出力", "🙂 e\u0301", "👩‍🚀", "a\\n b\\x1b"}) {
    CHECK(printable(text) == text);
    CHECK(printable_lines(text) == text);
    CHECK(is_utf8(text));
    CHECK(valid_utf8(text) == text);
  }
}

TEST_CASE("control characters of ASCII and of Unicode become escapes") {
  CHECK(printable("a\nb\r\tc") == "a\\nb\\r\\tc");
  CHECK(printable("\x1b]0;title\x07") == "\\x1b]0;title\\x07");
  CHECK(printable(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(printable("\u009b2J") == "\\u009b2J");           // what an 8-bit terminal takes for ESC [
  CHECK(printable("\u2028\u2029") == "\\u2028\\u2029");  // line breaks too
}

TEST_CASE("marks that reorder or hide text become escapes") {
  CHECK(printable("a\u202eb\u2066c\u200fd") == "a\\u202eb\\u2066c\\u200fd");
  CHECK(printable("a\u200bb\ufeff") == "a\\u200bb\\ufeff");
  CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("bytes that are no UTF-8 become escapes, one by one") {
  const std::string_view cut = "\xd0\xb2\xd0", surrogate = "\xed\xa0\x80", overlong = "\xc0\xaf", large = "\xf5\x80";
  CHECK(printable(cut) == "\xd0\xb2\\xd0");
  CHECK(printable(surrogate) == "\\xed\\xa0\\x80");
  CHECK(printable(overlong) == "\\xc0\\xaf");
  CHECK(printable(large) == "\\xf5\\x80");
  CHECK(valid_utf8(cut) == "\xd0\xb2\xef\xbf\xbd");
  for (const std::string_view text : {cut, surrogate, overlong, large}) {
    CHECK_FALSE(is_utf8(text));
    CHECK(is_utf8(valid_utf8(text)));
  }
}

TEST_CASE("text of several lines keeps line breaks and tabs, and nothing else that controls") {
  CHECK(printable_lines("a\n\tb\r\x1b[2J\n") == "a\n\tb\\r\\x1b[2J\n");
}

TEST_CASE("escaping what is escaped changes nothing") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  CHECK(printable(printable(all)) == printable(all));
  for (const unsigned char c : printable(all)) CHECK((c >= 0x20 && c < 0x7f));
}

TEST_CASE("JSON keeps its value and holds no character that a terminal obeys") {
  CHECK(printable_json("{\n  \"a\": \"\\u001b \u009b \u202e \x7f \U000e0041 выход\"\n}") ==
        "{\n  \"a\": \"\\u001b \\u009b \\u202e \\u007f \\udb40\\udc41 выход\"\n}");
}
