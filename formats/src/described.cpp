#include "ddpsim/formats/described.hpp"

#include <algorithm>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

DescribedObject::DescribedObject(std::string_view name, std::string_view says, Layout layout)
    : type_(name, says), layout_(layout) {}

void DescribedObject::add_member(std::string_view key, ValueType type, bool may_be_absent,
                                 Absent absent, std::string_view says, Write write,
                                 const void* held, std::size_t size) {
  DDPSIM_ASSERT(may_be_absent || absent == Absent::null, "left out, though it is always there");
  type.nullable = may_be_absent && absent == Absent::null;
  const bool required = !may_be_absent || absent == Absent::null;
  type_.add({std::string(key), std::move(type), required, std::string(says)});
  writers_.push_back({std::string(key), absent, write, {}});
  std::memcpy(writers_.back().held.data(), held, size);
}

void DescribedObject::add_member(std::string_view key, Kind kind, bool may_be_absent, Absent absent,
                                 std::string_view says, Write write, const void* held,
                                 std::size_t size) {
  add_member(key, ValueType{.kind = kind}, may_be_absent, absent, says, write, held, size);
}

void DescribedObject::add_members(const ObjectType& type, bool may_be_absent, Write write,
                                  const void* held, std::size_t size) {
  for (MemberType member : type.members) {
    member.required = member.required && !may_be_absent;
    type_.add(std::move(member));
  }
  writers_.push_back({"", Absent::left_out, write, {}});
  std::memcpy(writers_.back().held.data(), held, size);
}

void DescribedObject::set_required(std::initializer_list<std::string_view> keys, bool required) {
  for (const std::string_view key : keys) {
    const auto member = std::ranges::find(type_.members, key, &MemberType::key);
    DDPSIM_ASSERT(member != type_.members.end() && member->required != required,
                  "this is said of another member, or without need");
    member->required = required;
  }
}

std::string DescribedObject::object_text(const void* of) const {
  JsonWriter json;
  write_object(json, of);
  return std::move(json).finish();
}

void DescribedObject::write_object(JsonWriter& json, const void* of) const {
  json.begin_object(is_short_ != nullptr && is_short_(of) ? Layout::line : layout_);
  write_all(json, of);
  json.end_object();
}

void DescribedObject::write_all(JsonWriter& json, const void* of) const {
  for (const Writer& writer : writers_)
    writer.write(writer.held.data(), json, writer.key, writer.absent, of);
}

}  // namespace ddpsim
