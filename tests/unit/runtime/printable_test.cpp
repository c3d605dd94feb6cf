// Text from outside: what terminals obey comes out as escapes, what people read stays.
#include "base/printable.h"

#include <catch2/catch.hpp>

#include "base/utf8.h"

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

TEST_CASE("every code point is read as it is written, and no byte sequence besides") {
  int characters = 0;
  for (std::uint32_t value = 0; value <= 0x10ffff; ++value) {
    if (value >= 0xd800 && value <= 0xdfff) continue;
    std::string text;
    if (value < 0x80) {
      text = {static_cast<char>(value)};
    } else if (value < 0x800) {
      text = {static_cast<char>(0xc0 | value >> 6), static_cast<char>(0x80 | (value & 63))};
    } else if (value < 0x10000) {
      text = {static_cast<char>(0xe0 | value >> 12), static_cast<char>(0x80 | (value >> 6 & 63)),
              static_cast<char>(0x80 | (value & 63))};
    } else {
      text = {static_cast<char>(0xf0 | value >> 18), static_cast<char>(0x80 | (value >> 12 & 63)),
              static_cast<char>(0x80 | (value >> 6 & 63)), static_cast<char>(0x80 | (value & 63))};
    }
    const CodePoint point = first_code_point(text);
    characters += point.value == static_cast<std::int32_t>(value) && point.bytes == text.size();
  }
  CHECK(characters == 0x110000 - 0x800);
  // Of all sequences of three bytes those are characters whose first byte begins one that is as long as it needs to be.
  std::size_t two = 0, three = 0;
  for (std::uint32_t bytes = 0; bytes < 1U << 24; ++bytes) {
    const char text[] = {static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8), static_cast<char>(bytes)};
    const CodePoint point = first_code_point({text, 3});
    two += point.value >= 0 && point.bytes == 2;
    three += point.value >= 0 && point.bytes == 3;
  }
  CHECK(two == (0x800 - 0x80) * 256);
  CHECK(three == 0x10000 - 0x800 - 0x800);
}
