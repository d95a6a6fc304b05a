// Typed decoding of JSON documents. A Cursor is a value and its place in the document. Every
// accessor returns a checked value or throws InputError with the file, the place and the remedy.
//
//   Document document = Document::parse(text, "lab.json");
//   Object root = document.root().object({"schema", "name", "nodes"});  // others: did you mean
//   int nodes = root.required("nodes").integer(1, 1'000'000);
//   auto latency = root.optional("latency");  // std::optional<Cursor>
//
// Cursors point into the document, which must outlive them.
//
// A wrong type or value should be reported before a missing field. So read the optional fields
// first, or call Object::required last.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

class Object;
struct JsonTree;
struct JsonValue;
struct ObjectType;

class Cursor {
 public:
  std::string where() const;  ///< a JSON pointer; "" for the whole document
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;

  std::string string() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  double number(double low, double high) const;  ///< finite, within [low, high]
  /// A JSON number of microseconds ("*_us" fields); finite, within 63 bits of picoseconds.
  Duration microseconds(bool may_be_negative = false) const;
  Duration duration() const;    ///< "3.2us"
  Bytes bytes() const;          ///< "25MiB"
  Bandwidth bandwidth() const;  ///< "100Gbps"; must be > 0
  /// One of `choices`. Anything else is an error with a suggestion.
  std::string choice(const std::vector<std::string>& choices) const;
  std::string choice(std::initializer_list<std::string_view> choices) const;
  std::vector<Cursor> array() const;
  /// An object without keys outside `known`. An unknown key is an error with a suggestion.
  Object object(std::span<const std::string_view> known) const;
  Object object(std::initializer_list<std::string_view> known) const;
  Object object(const ObjectType& described) const;
  /// An object with keys of any name (provenance).
  Object free_object() const;
  [[noreturn]] void fail(std::string message, Hint hint = {}) const;

 private:
  friend class Document;
  friend class Object;
  Cursor(const JsonTree* tree, std::uint32_t place) : tree_(tree), place_(place) {}
  /// An unknown key is an error; `known` returns the known ones for the message.
  template <typename IsKnown, typename Known>
  Object object_with(IsKnown is_known, Known known) const;
  const JsonValue& value() const;
  std::string_view text() const;
  double real() const;  ///< of a number
  /// The value's text, shortened for a message.
  std::string shown() const;
  const JsonTree* tree_;
  std::uint32_t place_;  ///< index among the tree's values
};

class Object {
 public:
  Cursor required(std::string_view key) const;
  std::optional<Cursor> optional(std::string_view key) const;  ///< null counts as absent
  bool has(std::string_view key) const;
  std::vector<std::pair<std::string, Cursor>> items() const;  ///< in file order
  const Cursor& cursor() const { return cursor_; }

 private:
  friend class Cursor;
  explicit Object(Cursor cursor) : cursor_(cursor) {}
  /// Unlike `optional`, returns a cursor for a member that is null.
  std::optional<Cursor> member(std::string_view key) const;
  Cursor cursor_;
};

/// Owns a parsed document. Duplicate keys, comments, NaN, nesting deeper than 64 levels and
/// trailing text are errors with line and column.
class Document {
 public:
  static Document parse(std::string_view text, std::string file);
  Cursor root() const;

 private:
  Document() = default;
  std::shared_ptr<const JsonTree> tree_;
};

}  // namespace ddpsim
