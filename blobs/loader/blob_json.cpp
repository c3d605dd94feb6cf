#include "blobs/loader/blob_json.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace hearth::blob {
namespace {

constexpr int kDeepest = 32;

void append_string(std::string* out, std::string_view value) {
  *out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void append_utf8(std::string* out, std::uint32_t code) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | code >> 18);
    *out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool object(JsonObject* out) {
    space();
    if (!take('{')) return fail("does not begin with {");
    space();
    if (take('}')) return end();
    for (;;) {
      std::string name;
      space();
      if (!string(&name)) return false;
      space();
      if (!take(':')) return fail("has no : after a name");
      space();
      if (!member(name, out)) return false;
      space();
      if (take('}')) return end();
      if (!take(',')) return fail("has neither , nor } after a member");
    }
  }
  const std::string& why() const { return why_; }

 private:
  bool fail(const char* what) {
    if (why_.empty()) why_ = std::string(what) + ", at character " + std::to_string(at_);
    return false;
  }
  bool end() {
    space();
    return at_ == text_.size() || fail("goes on after the object");
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool member(const std::string& name, JsonObject* out) {
    if (at_ < text_.size() && text_[at_] == '"') {
      std::string value;
      if (!string(&value)) return false;
      out->strings[name] = std::move(value);
      return true;
    }
    const std::size_t begin = at_;
    if (!value(0)) return false;
    const std::string number(text_.substr(begin, at_ - begin));
    char* stop = nullptr;
    errno = 0;
    const long long parsed = std::strtoll(number.c_str(), &stop, 10);
    if (!number.empty() && stop == number.c_str() + number.size() && errno == 0) out->numbers[name] = parsed;
    return true;
  }

  // Any value, only checked.
  bool value(int depth) {
    if (depth > kDeepest) return fail("is nested too deeply");
    if (at_ >= text_.size()) return fail("ends before a value");
    const char c = text_[at_];
    std::string ignored;
    if (c == '"') return string(&ignored);
    if (c == '{' || c == '[') return list(c == '{', depth);
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-.0123456789eEtrufalsn").find(text_[at_]) != std::string_view::npos)
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false" || word == "null") return true;
    const bool number = !word.empty() && word.find_first_of("0123456789") != std::string_view::npos &&
                        word.find_first_of("trufalsn") == std::string_view::npos;
    return number || fail("has a value that is none");
  }

  bool list(bool named, int depth) {
    ++at_;
    space();
    const char close = named ? '}' : ']';
    if (take(close)) return true;
    for (;;) {
      space();
      if (named) {
        std::string name;
        if (!string(&name)) return false;
        space();
        if (!take(':')) return fail("has no : after a name");
        space();
      }
      if (!value(depth + 1)) return false;
      space();
      if (take(close)) return true;
      if (!take(',')) return fail("has a list that is not closed");
    }
  }

  bool hex(std::uint32_t* out) {
    *out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return fail("has a \\u that is not followed by four hexadecimal digits");
      *out = *out << 4 | static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  bool escape(std::string* out) {
    if (at_ >= text_.size()) return fail("ends in a string");
    const char c = text_[at_++];
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t found = kFrom.find(c); found != std::string_view::npos) {
      *out += kTo[found];
      return true;
    }
    if (c != 'u') return fail("has an unknown escape");
    std::uint32_t code = 0, low = 0;
    if (!hex(&code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      if (!hex(&low)) return false;
      code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    } else if (code >= 0xd800 && code < 0xe000) {
      code = 0xfffd;  // half of a pair
    }
    append_utf8(out, code);
    return true;
  }

  bool string(std::string* out) {
    if (!take('"')) return fail("has no string where one must be");
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("has a control character in a string");
      if (c != '\\') {
        *out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return fail("ends in a string");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;
};

}  // namespace

void JsonWriter::begin(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  append_string(&text_, name);
  text_ += ':';
}

void JsonWriter::add(std::string_view name, std::string_view value) {
  begin(name);
  append_string(&text_, value);
}

void JsonWriter::add(std::string_view name, std::int64_t value) {
  begin(name);
  text_ += std::to_string(value);
}

void JsonWriter::add(std::string_view name, const std::vector<std::string>& values) {
  begin(name);
  text_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text_ += ',';
    append_string(&text_, values[i]);
  }
  text_ += ']';
}

bool read_object(std::string_view text, JsonObject* out, std::string* why) {
  Reader reader(text);
  if (reader.object(out)) return true;
  *why = reader.why();
  return false;
}

}  // namespace hearth::blob
