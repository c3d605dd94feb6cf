#include "blobs/loader/blob_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using hearth::blob::JsonObject;
using hearth::blob::JsonWriter;
using hearth::blob::read_object;

TEST_CASE("what is written is JSON, read by another reader") {
  const std::string odd = "a\"b\\c\n\t\x01/ü {root}";
  JsonWriter json;
  json.add("stem", odd);
  json.add("flags", std::vector<std::string>{"-O3", "-D\"x y\"", ""});
  json.add("none", std::vector<std::string>{});
  json.add("timeout_ms", std::int64_t{900000});
  const nlohmann::json read = nlohmann::json::parse(json.text());
  CHECK(read["stem"] == odd);
  CHECK(read["flags"] == std::vector<std::string>{"-O3", "-D\"x y\"", ""});
  CHECK(read["none"].empty());
  CHECK(read["timeout_ms"] == 900000);
  CHECK(nlohmann::json::parse(JsonWriter().text()).empty());
}

TEST_CASE("what another writer wrote is read") {
  const nlohmann::json written = {{"path", "/a b/ü\n\"q\".so"},
                                  {"code", -13},
                                  {"list", {1, {{"x", nullptr}}}},
                                  {"yes", true},
                                  {"half", 1.5},
                                  {"emoji", "😀"}};
  for (const std::string& text : {written.dump(), written.dump(2), written.dump(-1, ' ', true)}) {
    JsonObject object;
    std::string why;
    INFO(text);
    REQUIRE(read_object(text, &object, &why));
    CHECK(object.strings["path"] == "/a b/ü\n\"q\".so");
    CHECK(object.strings["emoji"] == "😀");
    CHECK(object.numbers["code"] == -13);
    CHECK(object.strings.count("yes") + object.numbers.count("half") == 0);
  }
}

TEST_CASE("half of a surrogate pair becomes the replacement character") {
  JsonObject object;
  std::string why;
  REQUIRE(read_object(R"({"a": "\ud83dx", "b": "\udc00"})", &object, &why));
  CHECK(object.strings["a"] == "\xef\xbf\xbdx");
  CHECK(object.strings["b"] == "\xef\xbf\xbd");
}

TEST_CASE("what is no object is refused with its place") {
  const std::string deep(10000, '[');
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("{\"a\""),
        std::string("{\"a\":"), std::string("{\"a\":1"), std::string("{\"a\":1,"), std::string("{\"a\":1,}"),
        std::string("{\"a\":\"x}"), std::string("{\"a\":\"\\x\"}"), std::string("{\"a\":\"\\u12g4\"}"),
        std::string("{\"a\":\"\\u12"), std::string("{\"a\":\"line\nbreak\"}"), std::string("{\"a\":nul}"),
        std::string("{\"a\":1} x"), std::string("{a:1}"), std::string("{\"a\":+}"), "{\"a\":" + deep}) {
    JsonObject object;
    std::string why;
    INFO(text.substr(0, 60));
    CHECK_FALSE(read_object(text, &object, &why));
    CHECK(why.find("at character") != std::string::npos);
  }
}
