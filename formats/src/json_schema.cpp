#include "ddpsim/formats/json_schema.hpp"

#include <map>
#include <span>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// The object types that a document contains at any depth, by the name of the type. They become the
/// "$defs" of the JSON schema.
using PartsByName = std::map<std::string, const ObjectType*>;

void collect(const ValueType& type, PartsByName& into) {
  if (type.item) collect(*type.item, into);
  for (const ValueType& one : type.any_of) collect(one, into);
  if (type.object == nullptr) return;
  const auto [known, is_new] = into.emplace(type.object->name, type.object);
  DDPSIM_ASSERT(known->second == type.object, "two types of a document have one name");
  if (!is_new) return;
  for (const MemberType& member : type.object->members) collect(member.type, into);
}

const char* name_of(ValueType::Kind kind) {
  switch (kind) {
    case ValueType::Kind::text:
      return "string";
    case ValueType::Kind::integer:
      return "integer";
    case ValueType::Kind::number:
      return "number";
    case ValueType::Kind::boolean:
      return "boolean";
    case ValueType::Kind::list:
      return "array";
    case ValueType::Kind::object:
    case ValueType::Kind::texts_by_key:
    case ValueType::Kind::values_by_key:
    case ValueType::Kind::any:
      break;
  }
  return "object";
}

void write_type(JsonWriter& json, const ValueType& type);

void write_any_of(JsonWriter& json, std::span<const ValueType> types, bool or_null) {
  json.key("anyOf").begin_array();
  for (const ValueType& one : types) write_type(json, one);
  if (or_null) json.value(R"({"type": "null"})");
  json.end_array();
}

void write_value(JsonWriter& json, const ValueType& type) {
  if (!type.any_of.empty()) {
    write_any_of(json, type.any_of, type.nullable);
    return;
  }
  if (type.object != nullptr) {
    if (type.nullable) {
      const ValueType there = object_of(*type.object);
      write_any_of(json, {&there, 1}, true);
      return;
    }
    json.key("$ref").string("#/$defs/" + type.object->name);
    return;
  }
  json.key("type");
  if (type.nullable)
    json.strings({name_of(type.kind), "null"});
  else
    json.string(name_of(type.kind));
  if (!type.words.empty()) {
    json.key("enum").begin_array();
    for (const std::string& word : type.words) json.string(word);
    if (type.nullable) json.null();
    json.end_array();
  }
  if (type.item) {
    json.key(type.kind == ValueType::Kind::list ? "items" : "additionalProperties");
    write_type(json, *type.item);
  }
  if (type.kind == ValueType::Kind::texts_by_key)
    json.key("additionalProperties").value(R"({"type": "string"})");
}

void write_type(JsonWriter& json, const ValueType& type) {
  json.begin_object(Layout::line);
  write_value(json, type);
  json.end_object();
}

void write_member(JsonWriter& json, const MemberType& member) {
  json.key(member.key).begin_object(Layout::line);
  json.key("description").string(member.says);
  write_value(json, member.type);
  json.end_object();
}

void write_object(JsonWriter& json, const ObjectType& object) {
  json.key("description").string(object.says);
  json.key("type").string("object");
  json.key("properties").begin_object();
  std::vector<std::string> required;
  for (const MemberType& member : object.members) {
    write_member(json, member);
    if (member.required) required.push_back(member.key);
  }
  json.end_object();
  json.key("required").strings(required);
  json.key("additionalProperties").boolean(false);
}

}  // namespace

DocumentType document_type(const ObjectType& type) {
  DDPSIM_ASSERT(!type.members.empty() && type.members.front().key == "schema",
                "a document's first member says which it is");
  return {type.members.front().type.words.front(), &type};
}

std::string json_schema(const DocumentType& document) {
  std::map<std::string, const ObjectType*> parts;
  for (const MemberType& member : document.type->members) collect(member.type, parts);
  JsonWriter json;
  json.begin_object();
  json.key("$schema").string("https://json-schema.org/draft/2020-12/schema");
  json.key("$id").string(document.name);
  json.key("title").string(document.type->name);
  write_object(json, *document.type);
  json.key("$defs").begin_object();
  for (const auto& [name, object] : parts) {
    json.key(name).begin_object();
    write_object(json, *object);
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
