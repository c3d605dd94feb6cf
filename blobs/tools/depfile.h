// The files a compiler says it read: a make rule (-MD -MF) and a list of headers (CC_PRINT_HEADERS of clang).
//
// A make rule: "out.o: a.cpp b.h \\\n c\ d.h": blanks and '#' are escaped with '\', '$' is doubled. Pure; thread-safe.
//   std::vector<std::string> files = parse_depfile("x.so: x.cpp \\\n  /usr/include/stdio.h\n");
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blobs {

// The prerequisites of every rule, in order, as written; duplicates stay.
std::vector<std::string> parse_depfile(std::string_view text);

}  // namespace hearth::blobs
