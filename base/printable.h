// printable: text from outside (names in models, paths, messages of other programs) made safe to print. Control
// characters of ASCII, Unicode and terminals, marks that reorder or hide text, and bytes that are no UTF-8 come out as
// C's escapes: n, t, x and two digits, u and four. Letters of any language stay. Escaping twice changes nothing, so a
// backslash is not escaped: the result is for people, not for parsing. Pure functions; thread-safe.
//
//   std::fprintf(stderr, "%s: no such node\n", printable(node.name()).c_str());
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// One line, whatever `text` holds.
std::string printable(std::string_view text);
// Several lines: line breaks and tabs stay.
std::string printable_lines(std::string_view text);
// The beginning of a long text, at most `max_bytes` and at a character's end, and how long all of it is.
std::string shortened(std::string_view text, std::size_t max_bytes);
// One line of about `max_bytes` at most: cut before it is escaped, which may make it four times as long, and after.
std::string printable(std::string_view text, std::size_t max_bytes);
// JSON text, which is UTF-8, with every character that printable() would escape as a JSON escape: the same value.
std::string printable_json(std::string_view json);

}  // namespace hearth
