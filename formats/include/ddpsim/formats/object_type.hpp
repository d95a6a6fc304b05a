// Members that an object of a JSON document may hold: key, type, presence and meaning. The JSON
// Schema is produced from this (json_schema.hpp), and a reader uses it to refuse other keys
// (decoder.hpp). For an object that the program writes, it comes from the writer's description
// (described.hpp). For an object that is only read, each member is listed:
//
//   const ObjectType& background_job_type() {
//     static const auto type = ObjectType("BackgroundJob", "a job that shares the network");
//     type.needs("nodes", list_of({ValueType::Kind::integer}), "the nodes it runs on");
//     return type;
//   }
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddpsim {

struct ObjectType;

/// The WebAssembly build prints no schemas. It leaves out their sentences, which are 2.5 % of its
/// size.
#ifdef DDPSIM_WITHOUT_MEANINGS
constexpr std::string_view kept_meaning(std::string_view) {
  return {};
}
#else
constexpr std::string_view kept_meaning(std::string_view says) {
  return says;
}
#endif

/// Type of a value of a document.
struct ValueType {
  enum class Kind {
    text,
    integer,
    number,
    boolean,
    object,
    list,
    texts_by_key,
    values_by_key,
    any
  };
  Kind kind = Kind::text;
  bool nullable = false;
  /// Allowed values of a text; empty: any text.
  std::vector<std::string> words = {};
  const ObjectType* object = nullptr;          ///< type of an object
  std::shared_ptr<const ValueType> item = {};  ///< for a list, or for values by key
  std::vector<ValueType> any_of = {};          ///< types, one of which the value fits
};

ValueType word_of(std::vector<std::string> words);
ValueType word_of(std::initializer_list<const char*> words);
ValueType list_of(ValueType item);
/// An object whose keys the user chooses.
ValueType values_by_key(ValueType value);
/// A value that fits one of `types`: for example a text or a number.
ValueType any_of(std::vector<ValueType> types);
/// `type` must outlive the returned type.
ValueType object_of(const ObjectType& type);
ValueType object_of(ObjectType&& type) = delete;

struct MemberType {
  /// The name ends with its unit: "wait_us", "host_bytes".
  std::string key;
  ValueType type;
  bool required = true;
  std::string says;  ///< what it means
};

struct ObjectType {
  /// Name of the type in other languages: "RankWaits".
  std::string name;
  std::string says;  ///< what it is
  std::vector<MemberType> members = {};

  ObjectType(std::string_view called, std::string_view meaning) : name(called), says(meaning) {}
  [[gnu::always_inline]] ObjectType& needs(std::string_view key, ValueType type,
                                           std::string_view meaning) {
    return add_needed(key, std::move(type), kept_meaning(meaning));
  }
  /// A reader treats null like an absent member.
  [[gnu::always_inline]] ObjectType& may_have(std::string_view key, ValueType type,
                                              std::string_view meaning) {
    return add_optional(key, std::move(type), kept_meaning(meaning));
  }
  /// The caller must not add a key twice.
  void add(MemberType member);
  const MemberType* find(std::string_view key) const;  ///< null if there is none

 private:
  ObjectType& add_needed(std::string_view key, ValueType type, std::string_view meaning);
  ObjectType& add_optional(std::string_view key, ValueType type, std::string_view meaning);
};

}  // namespace ddpsim
