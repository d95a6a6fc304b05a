// Describes the members of a JSON object in one place: key, type, presence and meaning. The
// description writes the object and produces its JSON Schema (json_schema.hpp), from which the
// types of other languages are generated.
//
//   const Described<RankWait>& described_rank_wait() {
//     static const auto described =
//         Described<RankWait>("RankWaits", "who waited for whom", JsonWriter::Layout::line)
//             .integer("rank", &RankWait::rank, "whose waits these are")
//             .time("wait_us", &RankWait::wait, "spent waiting for the last rank");
//     return described;
//   }
//
// A member is read by anything std::invoke accepts: a data member, a member function or a lambda.
// It may yield an optional or a pointer. If that is empty, the member is null or left out.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

template <typename Value>
inline constexpr bool may_be_absent = std::is_pointer_v<Value> && !std::same_as<Value, const char*>;
template <typename Value>
inline constexpr bool may_be_absent<std::optional<Value>> = true;

/// A number that is already formatted, for objects whose numbers are times, ratios or plain
/// numbers.
struct NumberToken {
  std::string text;  ///< microseconds_token(), ratio_token() or number_token()
};

/// How a member without a value is written.
enum class Absent { null, left_out };

/// The part of a description that does not depend on the described C++ type.
class DescribedObject {
 public:
  using Kind = ValueType::Kind;
  using Layout = JsonWriter::Layout;

  const ObjectType& type() const { return type_; }

 protected:
  /// Storage for a writer's state. It is trivially copyable, so no copy function is compiled.
  using Held = std::array<std::byte, 48>;
  /// Writes the value that a reader gets from an object, or nothing.
  using Write = void (*)(const void* held, JsonWriter& json, std::string_view key, Absent absent,
                         const void* of);

  DescribedObject(std::string_view name, std::string_view says, Layout layout);

  void add_member(std::string_view key, ValueType type, bool may_be_absent, Absent absent,
                  std::string_view says, Write write, const void* held, std::size_t size);
  void add_member(std::string_view key, Kind kind, bool may_be_absent, Absent absent,
                  std::string_view says, Write write, const void* held, std::size_t size);
  void add_members(const ObjectType& type, bool may_be_absent, Write write, const void* held,
                   std::size_t size);
  void set_required(std::initializer_list<std::string_view> keys, bool required);
  /// Whether an object is written on one line.
  using IsShort = bool (*)(const void* of);
  void set_short(IsShort is_short) { is_short_ = is_short; }

  template <typename Needed>
  static constexpr std::size_t size_held() {
    static_assert(std::is_trivially_copyable_v<Needed> && sizeof(Needed) <= sizeof(Held));
    return sizeof(Needed);
  }

  std::string object_text(const void* of) const;
  void write_object(JsonWriter& json, const void* of) const;
  void write_all(JsonWriter& json, const void* of) const;

 private:
  struct Writer {
    std::string key;  ///< empty: writes several members
    Absent absent;
    Write write;
    alignas(std::max_align_t) Held held;
  };
  ObjectType type_;
  Layout layout_;
  IsShort is_short_ = nullptr;  ///< null: `layout_` holds for every object
  std::vector<Writer> writers_;
};

/// The functions are inlined where a member is described. Otherwise each would be compiled
/// separately for that member. Hundreds of such functions made the WebAssembly build larger.
template <typename T>
class Described : public DescribedObject {
 public:
  [[gnu::always_inline]] Described(std::string_view name, std::string_view says,
                                   Layout layout = Layout::block)
      : DescribedObject(name, kept_meaning(says), layout) {}

  template <typename Read>
  [[gnu::always_inline]] Described& text(std::string_view key, Read read, std::string_view says,
                                         Absent absent = Absent::null) {
    return add(key, Kind::text, read, says, absent,
               [](JsonWriter& json, const auto& value) { json.string(value); });
  }
  /// A value that is written as its name_of(). `all` lists the possible values.
  template <typename Read, typename Words>
  [[gnu::always_inline]] Described& word(std::string_view key, Read read, const Words& all,
                                         std::string_view says, Absent absent = Absent::null) {
    return add(key, word_of(names_of(all)), read, says, absent,
               [](JsonWriter& json, const auto& value) { json.string(name_of(value)); });
  }
  /// A text that is one of `all`.
  template <typename Read>
  [[gnu::always_inline]] Described& one_of(std::string_view key, Read read,
                                           std::initializer_list<const char*> all,
                                           std::string_view says, Absent absent = Absent::null) {
    return add(key, word_of(all), read, says, absent,
               [](JsonWriter& json, const auto& value) { json.string(value); });
  }
  template <typename Read>
  [[gnu::always_inline]] Described& one_of(std::string_view key, Read read,
                                           std::vector<std::string> all, std::string_view says,
                                           Absent absent = Absent::null) {
    return add(key, word_of(std::move(all)), read, says, absent,
               [](JsonWriter& json, const auto& value) { json.string(value); });
  }
  /// A text that is always the same.
  [[gnu::always_inline]] Described& constant(std::string_view key, const char* text,
                                             std::string_view says) {
    return add(
        key, word_of(std::initializer_list<const char*>{text}), [text](const T&) { return text; },
        says, Absent::null, [](JsonWriter& json, const char* value) { json.string(value); });
  }
  /// A whole number, or a number of bytes.
  template <typename Read>
  [[gnu::always_inline]] Described& integer(std::string_view key, Read read, std::string_view says,
                                            Absent absent = Absent::null) {
    return add(key, Kind::integer, read, says, absent,
               [](JsonWriter& json, const auto& value) { write_integer(json, value); });
  }
  template <typename Read>
  [[gnu::always_inline]] Described& number(std::string_view key, Read read, std::string_view says,
                                           Absent absent = Absent::null) {
    return add(key, Kind::number, read, says, absent,
               [](JsonWriter& json, const auto& value) { write_number(json, value); });
  }
  /// A number, rounded to six decimals.
  template <typename Read>
  [[gnu::always_inline]] Described& ratio(std::string_view key, Read read, std::string_view says,
                                          Absent absent = Absent::null) {
    return add(key, Kind::number, read, says, absent,
               [](JsonWriter& json, double value) { json.ratio(value); });
  }
  /// A duration or an instant, in microseconds.
  template <typename Read>
  [[gnu::always_inline]] Described& time(std::string_view key, Read read, std::string_view says,
                                         Absent absent = Absent::null) {
    return add(key, Kind::number, read, says, absent,
               [](JsonWriter& json, const auto& value) { json.time(value); });
  }
  template <typename Read>
  [[gnu::always_inline]] Described& boolean(std::string_view key, Read read, std::string_view says,
                                            Absent absent = Absent::null) {
    return add(key, Kind::boolean, read, says, absent,
               [](JsonWriter& json, std::same_as<bool> auto value) { json.boolean(value); });
  }
  template <typename Read>
  [[gnu::always_inline]] Described& texts(std::string_view key, Read read, std::string_view says,
                                          Absent absent = Absent::null,
                                          Layout layout = Layout::block) {
    return add(key, list_of({Kind::text}), read, says, absent,
               each_of(layout, [](JsonWriter& json, const auto& value) { json.string(value); }));
  }
  template <typename Read>
  [[gnu::always_inline]] Described& integers(std::string_view key, Read read, std::string_view says,
                                             Absent absent = Absent::null,
                                             Layout layout = Layout::line) {
    return add(
        key, list_of({Kind::integer}), read, says, absent,
        each_of(layout, [](JsonWriter& json, const auto& value) { write_integer(json, value); }));
  }
  /// A list of numbers with all their digits, on one line.
  template <typename Read>
  [[gnu::always_inline]] Described& numbers(std::string_view key, Read read, std::string_view says,
                                            Absent absent = Absent::null) {
    return add(key, list_of({Kind::number}), read, says, absent,
               each_of(Layout::line, [](JsonWriter& json, double value) { json.number(value); }));
  }
  /// A list of numbers, rounded to six decimals, on one line.
  template <typename Read>
  [[gnu::always_inline]] Described& ratios(std::string_view key, Read read, std::string_view says,
                                           Absent absent = Absent::null) {
    return add(key, list_of({Kind::number}), read, says, absent,
               each_of(Layout::line, [](JsonWriter& json, double value) { json.ratio(value); }));
  }
  /// A list of durations or instants, in microseconds.
  template <typename Read>
  [[gnu::always_inline]] Described& times(std::string_view key, Read read, std::string_view says,
                                          Absent absent = Absent::null) {
    return add(key, list_of({Kind::number}), read, says, absent,
               each_of(Layout::block, [](JsonWriter& json, const auto& time) { json.time(time); }));
  }
  /// A list of lists of texts.
  template <typename Read>
  [[gnu::always_inline]] Described& text_rows(std::string_view key, Read read,
                                              std::string_view says, Absent absent = Absent::null) {
    return add(
        key, list_of(list_of({Kind::text})), read, says, absent,
        each_of(Layout::block, [](JsonWriter& json, const auto& row) { json.strings(row); }));
  }
  /// A list of lists of whole numbers, each inner list on one line. An absent number is null.
  template <typename Read>
  [[gnu::always_inline]] Described& integer_or_null_rows(std::string_view key, Read read,
                                                         std::string_view says,
                                                         Absent absent = Absent::null) {
    return add(key, list_of(list_of({.kind = Kind::integer, .nullable = true})), read, says, absent,
               [](JsonWriter& json, const auto& rows) {
                 json.begin_array();
                 for (const auto& row : rows) {
                   json.begin_array(Layout::line);
                   for (const auto& value : row) value ? write_integer(json, *value) : json.null();
                   json.end_array();
                 }
                 json.end_array();
               });
  }
  /// An object whose keys are not known in advance, with texts as values.
  template <typename Read>
  [[gnu::always_inline]] Described& texts_by_key(std::string_view key, Read read,
                                                 std::string_view says,
                                                 Absent absent = Absent::null) {
    return add(key, Kind::texts_by_key, read, says, absent,
               [](JsonWriter& json, const auto& pairs) {
                 json.begin_object();
                 for (const auto& [name, value] : pairs) json.key(name).string(value);
                 json.end_object();
               });
  }
  /// An object whose keys are not known in advance. Each value is JSON text.
  template <typename Read>
  [[gnu::always_inline]] Described& values_by_key(std::string_view key, Read read,
                                                  std::string_view says,
                                                  Absent absent = Absent::null) {
    return add(key, Kind::values_by_key, read, says, absent,
               [](JsonWriter& json, const auto& pairs) {
                 json.begin_object();
                 for (const auto& [name, value] : pairs) json.key(name).value(value);
                 json.end_object();
               });
  }
  /// A nested object. `described` must outlive this.
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& object(std::string_view key, Read read,
                                           const Described<Value>& described, std::string_view says,
                                           Absent absent = Absent::null) {
    return add(key, object_of(described.type()), read, says, absent,
               [&described](JsonWriter& json, const auto& value) { described.write(json, value); });
  }
  /// A list of objects. `described` must outlive this.
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& list(std::string_view key, Read read,
                                         const Described<Value>& described, std::string_view says,
                                         Absent absent = Absent::null,
                                         Layout layout = Layout::block) {
    return add(key, list_of(object_of(described.type())), read, says, absent,
               each_of(layout, [&described](JsonWriter& json, const auto& value) {
                 described.write(json, value);
               }));
  }
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& object(std::string_view, Read, Described<Value>&&,
                                           std::string_view, Absent = Absent::null) = delete;
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& list(std::string_view, Read, Described<Value>&&,
                                         std::string_view, Absent = Absent::null,
                                         Layout = Layout::block) = delete;
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& members_of(Read, Described<Value>&&) = delete;
  /// Writes all members of another object as members of this one. If that object is absent, writes
  /// none of them.
  template <typename Read, typename Value>
  [[gnu::always_inline]] Described& members_of(Read read, const Described<Value>& described) {
    constexpr bool kMayBeAbsent = may_be_absent<Result<Read>>;
    struct Needed {
      Read read;
      const Described<Value>* described;
    };
    const Needed needed{read, &described};
    add_members(
        described.type(), kMayBeAbsent,
        [](const void* held, JsonWriter& json, std::string_view, Absent, const void* of) {
          const auto& has = *static_cast<const Needed*>(held);
          const auto& value = std::invoke(has.read, *static_cast<const T*>(of));
          if constexpr (kMayBeAbsent) {
            if (value) has.described->write_members(json, *value);
          } else {
            has.described->write_members(json, value);
          }
        },
        &needed, size_held<Needed>());
    return *this;
  }

  /// These members are always written, but a reader accepts a document without them. Call this
  /// after describing all members.
  Described& optional_when_read(std::initializer_list<std::string_view> keys) {
    set_required(keys, false);
    return *this;
  }
  /// A writer may leave these members out, but a reader requires them.
  Described& required_when_read(std::initializer_list<std::string_view> keys) {
    set_required(keys, true);
    return *this;
  }
  /// Objects for which `is_short` is true are written on one line. `is_short` captures nothing.
  template <typename IsShortObject>
  Described& on_one_line_if(IsShortObject) {
    static_assert(std::is_empty_v<IsShortObject>);
    set_short([](const void* of) { return IsShortObject{}(*static_cast<const T*>(of)); });
    return *this;
  }

  /// The object as a document of its own.
  std::string text_of(const T& of) const { return object_text(&of); }
  void write(JsonWriter& json, const T& of) const { write_object(json, &of); }
  void write_members(JsonWriter& json, const T& of) const { write_all(json, &of); }

 private:
  /// Writes a list; `write` writes each value.
  template <typename WriteValue>
  static auto each_of(Layout layout, WriteValue write) {
    return [layout, write](JsonWriter& json, const auto& values) {
      json.begin_array(layout);
      for (const auto& value : values) write(json, value);
      json.end_array();
    };
  }

  template <typename Words>
  static std::vector<std::string> names_of(const Words& all) {
    std::vector<std::string> names;
    for (const auto& one : all) names.emplace_back(name_of(one));
    return names;
  }

  template <typename Read>
  using Result = std::remove_cvref_t<std::invoke_result_t<Read, const T&>>;

  static void write_number(JsonWriter& json, double value) { json.number(value); }
  static void write_number(JsonWriter& json, const NumberToken& value) { json.value(value.text); }
  static void write_integer(JsonWriter& json, const Bytes& bytes) { json.integer(bytes.count()); }
  static void write_integer(JsonWriter& json, std::signed_integral auto value) {
    json.integer(value);
  }
  static void write_integer(JsonWriter& json, bool value) = delete;
  static void write_integer(JsonWriter& json, std::unsigned_integral auto value) {
    json.count(std::uint64_t{value});
  }

  /// `type` is a ValueType, or only its Kind.
  template <typename Type, typename Read, typename WriteValue>
  [[gnu::always_inline]] Described& add(std::string_view key, Type type, Read read,
                                        std::string_view says, Absent when_absent,
                                        WriteValue write) {
    constexpr bool kMayBeAbsent = may_be_absent<Result<Read>>;
    struct Needed {
      Read read;
      WriteValue write;
    };
    const Needed needed{read, write};
    add_member(
        key, std::move(type), kMayBeAbsent, when_absent, kept_meaning(says),
        [](const void* held, JsonWriter& json, std::string_view under, Absent absent,
           const void* of) {
          const auto& has = *static_cast<const Needed*>(held);
          const auto& value = std::invoke(has.read, *static_cast<const T*>(of));
          if constexpr (kMayBeAbsent) {
            if (value)
              has.write(json.key(under), *value);
            else if (absent == Absent::null)
              json.key(under).null();
          } else {
            has.write(json.key(under), value);
          }
        },
        &needed, size_held<Needed>());
    return *this;
  }
};

/// All enumerators from the first to `last`.
template <typename Enumeration>
std::vector<Enumeration> all_up_to(Enumeration last) {
  std::vector<Enumeration> all;
  for (int value = 0; value <= static_cast<int>(last); ++value)
    all.push_back(static_cast<Enumeration>(value));
  return all;
}

/// Reads a text or a list, and treats an empty one as absent. What `read` refers to is not copied.
template <typename Read>
auto unless_empty(Read read) {
  return [read](const auto& of) {
    const auto& value = std::invoke(read, of);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_lvalue_reference_v<std::invoke_result_t<const Read&, decltype(of)>>)
      return value.empty() ? nullptr : &value;
    else
      return value.empty() ? std::optional<Value>() : std::optional<Value>(value);
  };
}

/// Reads a bool, and treats false as absent.
template <typename Read>
auto if_true(Read read) {
  return
      [read](const auto& of) { return std::invoke(read, of) ? std::optional(true) : std::nullopt; };
}

/// Reads a number, a duration or bytes, and treats values that are not above zero as absent.
template <typename Read>
auto if_positive(Read read) {
  return [read](const auto& of) {
    const auto value = std::invoke(read, of);
    using Value = std::remove_const_t<decltype(value)>;
    return value > Value() ? std::optional(value) : std::nullopt;
  };
}

}  // namespace ddpsim
