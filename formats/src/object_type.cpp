#include "ddpsim/formats/object_type.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

ValueType word_of(std::vector<std::string> words) {
  return {.kind = ValueType::Kind::text, .words = std::move(words)};
}

ValueType word_of(std::initializer_list<const char*> words) {
  return word_of(std::vector<std::string>(words.begin(), words.end()));
}

ValueType list_of(ValueType item) {
  return {.kind = ValueType::Kind::list,
          .item = std::make_shared<const ValueType>(std::move(item))};
}

ValueType values_by_key(ValueType value) {
  return {.kind = ValueType::Kind::values_by_key,
          .item = std::make_shared<const ValueType>(std::move(value))};
}

ValueType any_of(std::vector<ValueType> types) {
  DDPSIM_ASSERT(!types.empty(), "a value has no type");
  return {.kind = ValueType::Kind::any, .any_of = std::move(types)};
}

ValueType object_of(const ObjectType& type) {
  return {.kind = ValueType::Kind::object, .object = &type};
}

ObjectType& ObjectType::add_needed(std::string_view key, ValueType type, std::string_view meaning) {
  add({std::string(key), std::move(type), true, std::string(meaning)});
  return *this;
}

ObjectType& ObjectType::add_optional(std::string_view key, ValueType type,
                                     std::string_view meaning) {
  type.nullable = true;
  add({std::string(key), std::move(type), false, std::string(meaning)});
  return *this;
}

void ObjectType::add(MemberType member) {
  DDPSIM_ASSERT(find(member.key) == nullptr, "two members have one key");
  members.push_back(std::move(member));
}

const MemberType* ObjectType::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &MemberType::key);
  return found == members.end() ? nullptr : &*found;
}

}  // namespace ddpsim
