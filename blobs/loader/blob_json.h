// The one-line JSON objects that libhearth_blob exchanges with hearth-blobc and the daemon's client; no library,
// because this is linked into other people's. Writing: strings and lists of strings. Reading: the strings and integers
// of one object; members of other kinds are checked and left out. Pure; thread-safe. Errors: read_object gives false
// and says why.
//   JsonWriter json; json.add("stem", stem); json.add("flags", flags); send(json.text());
//   JsonObject reply; std::string why; if (!read_object(text, &reply, &why)) …
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blob {

class JsonWriter {
 public:
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, const std::vector<std::string>& values);
  void add(std::string_view name, std::int64_t value);
  std::string text() const { return text_ + "}"; }

 private:
  void begin(std::string_view name);
  std::string text_ = "{";
};

struct JsonObject {
  std::map<std::string, std::string> strings;
  std::map<std::string, std::int64_t> numbers;
};

bool read_object(std::string_view text, JsonObject* out, std::string* why);

}  // namespace hearth::blob
