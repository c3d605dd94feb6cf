// Make rules as compilers write them.
#include "blobs/tools/depfile.h"

#include <catch2/catch.hpp>

using hearth::blobs::parse_depfile;
using List = std::vector<std::string>;

TEST_CASE("A rule over several lines") {
  CHECK(parse_depfile("x.so: x.cpp \\\n  /usr/include/a.h \\\n b.h\n") == List{"x.cpp", "/usr/include/a.h", "b.h"});
}
TEST_CASE("Escapes: blanks, #, $; Windows line ends") {
  CHECK(parse_depfile("o: a\\ b.h c\\#d.h e$$f.h \\\r\n g.h\r\n") == List{"a b.h", "c#d.h", "e$f.h", "g.h"});
}
TEST_CASE("Several rules; a target with a colon in its name; nothing") {
  CHECK(parse_depfile("a: b\nc: d\n") == List{"b", "d"});
  CHECK(parse_depfile("") == List{});
  CHECK(parse_depfile("o:\n") == List{});
}
