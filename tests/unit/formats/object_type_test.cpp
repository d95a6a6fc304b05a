#include "ddpsim/formats/object_type.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "complaint.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_schema.hpp"

using namespace ddpsim;

namespace {

using Kind = ValueType::Kind;

const ObjectType& part_type() {
  static const auto type = ObjectType("Part", "a part").needs("size", {Kind::integer}, "its size");
  return type;
}

const ObjectType& whole_type() {
  static const auto type =
      ObjectType("Whole", "a whole")
          .needs("schema", word_of({"ddpsim.whole/1"}), "which document this is")
          .may_have("share", any_of({{Kind::number}, {Kind::text}}), "how much")
          .may_have("parts", list_of(any_of({{Kind::text}, object_of(part_type())})),
                    "what it is made of")
          .may_have("settings", values_by_key({Kind::number}), "settings by their names");
  return type;
}

std::string complaint(const std::string& text) {
  return complaint_of([&] {
    const Document document = Document::parse(text, "f.json");
    document.root().object(whole_type());
  });
}

}  // namespace

TEST_CASE("decoder: an object with a type may have only the keys of that type") {
  CHECK(complaint(R"({"schema": "ddpsim.whole/1", "share": 1, "parts": []})") == "");
  CHECK(complaint("{}") == "");  // the reader that needs it reports it
  CHECK(complaint(R"({"shar": 1})") ==
        "f.json:/shar: unknown key \"shar\". Did you mean \"share\"?");
  CHECK(complaint(R"({"zzz": 1})") ==
        "f.json:/zzz: unknown key \"zzz\". Known keys here: schema, share, parts, settings");
}

TEST_CASE(
    "JSON Schema: a value of one of several types, and values under keys chosen by the user") {
  const auto schema = nlohmann::json::parse(json_schema(document_type(whole_type())));
  const auto& members = schema.at("properties");
  CHECK(members.at("share").at("anyOf") ==
        nlohmann::json::parse(R"([{"type": "number"}, {"type": "string"}, {"type": "null"}])"));
  CHECK(members.at("parts").at("items").at("anyOf") ==
        nlohmann::json::parse(R"([{"type": "string"}, {"$ref": "#/$defs/Part"}])"));
  CHECK(members.at("settings").at("additionalProperties") ==
        nlohmann::json::parse(R"({"type": "number"})"));
  CHECK(schema.at("$defs").contains("Part"));
}
