// What an object of a JSON document may hold: of each member its key, type, presence and meaning. Its JSON Schema is made of
// this (json_schema.hpp), and a reader refuses other keys by it (decoder.hpp). Of an object that the program writes it comes
// from what writes it (described.hpp); of one that is only read it is told member by member:
//
//   const ObjectType& background_job_type() {
//     static const auto type =
//         ObjectType("BackgroundJob", "a job that shares the network")
//             .needs("nodes", list_of({ValueType::Kind::integer}), "the nodes it runs on")
//             .may_have("every", {ValueType::Kind::text}, "how long until it sends again: \"10ms\"");
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

/// The page's program tells no schemas: it leaves their sentences out, which are a fortieth of its size.
#ifdef DDPSIM_WITHOUT_MEANINGS
constexpr std::string_view kept_meaning(std::string_view) {
  return {};
}
#else
constexpr std::string_view kept_meaning(std::string_view says) {
  return says;
}
#endif

/// Of a value of a document.
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
  std::vector<std::string> words = {};         ///< of a text that is one of these; empty: any
  const ObjectType* object = nullptr;          ///< of an object
  std::shared_ptr<const ValueType> item = {};  ///< of a list, or of values by key
  std::vector<ValueType> any_of = {};          ///< of a value that fits one of these
};

ValueType word_of(std::vector<std::string> words);
ValueType word_of(std::initializer_list<const char*> words);
ValueType list_of(ValueType item);
/// An object whose keys the user chooses.
ValueType values_by_key(ValueType value);
/// A value that fits one of `types`: a text or a number, an object of one kind or another.
ValueType any_of(std::vector<ValueType> types);
/// `type` must outlive the value's type.
ValueType object_of(const ObjectType& type);
ValueType object_of(ObjectType&& type) = delete;

struct MemberType {
  std::string key;  ///< ends with its unit: "wait_us", "host_bytes"
  ValueType type;
  bool required = true;
  std::string says;  ///< what it means
};

struct ObjectType {
  std::string name;  ///< "RankWaits", of its type in other languages
  std::string says;  ///< what it is
  std::vector<MemberType> members = {};

  ObjectType(std::string_view called, std::string_view meaning) : name(called), says(meaning) {}
  [[gnu::always_inline]] ObjectType& needs(std::string_view key, ValueType type,
                                           std::string_view meaning) {
    return add_needed(key, std::move(type), kept_meaning(meaning));
  }
  /// Null is as good as absent where a document is read.
  [[gnu::always_inline]] ObjectType& may_have(std::string_view key, ValueType type,
                                              std::string_view meaning) {
    return add_optional(key, std::move(type), kept_meaning(meaning));
  }
  /// A key twice is a mistake of the caller.
  void add(MemberType member);
  const MemberType* find(std::string_view key) const;  ///< null where there is none

 private:
  ObjectType& add_needed(std::string_view key, ValueType type, std::string_view meaning);
  ObjectType& add_optional(std::string_view key, ValueType type, std::string_view meaning);
};

}  // namespace ddpsim
