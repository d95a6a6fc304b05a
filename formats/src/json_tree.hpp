// Parses strict JSON text into a tree. Duplicate keys and deep nesting, which nlohmann's parser
// accepts, are errors. Every error has a line and a column.
//
// The tree is one list of values in text order, each value before its contents. So ten million
// values are read as fast as memory can be filled, and are freed in one step.
//
//   {"a": [1, 2]}    0 object, up to 4
//                    1 "a" of 0: array, up to 4
//                    2 item 0 of 1: 1
//                    3 item 1 of 1: 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

inline constexpr int kDeepestNesting = 64;
/// Largest text that JsonValue can index.
inline constexpr std::uint64_t kMostJsonBytes = std::uint64_t{1} << 32;

enum class JsonKind : std::uint8_t {
  null,
  boolean,
  integer,
  natural,  ///< an integer above 2^63 - 1
  /// Written with a point or an exponent, or an integer that does not fit in 64 bits.
  real,
  string,
  array,
  object
};

struct JsonValue {
  struct Text {
    std::uint32_t begin;
    std::uint32_t size;
  };
  JsonKind kind = JsonKind::null;
  std::uint32_t parent = 0;  ///< index of the array or object around it
  /// For a member: its name's index in JsonTree::names. For an item: the number of items before it.
  std::uint32_t name = 0;
  std::uint32_t behind = 0;  ///< index of the first value after its contents
  union {
    bool boolean;
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
    Text text;  ///< index in JsonTree::texts
  };
};

struct JsonTree {
  std::string file;
  std::vector<JsonValue> values;   ///< the first is the document itself
  std::vector<std::string> names;  ///< each name once, however many members have it
  std::string texts;

  std::string_view text_of(const JsonValue& value) const {
    return std::string_view(texts).substr(value.text.begin, value.text.size);
  }
  const std::string& name_of(const JsonValue& member) const { return names[member.name]; }
};

/// Throws InputError. A valid document is read in one pass. An invalid one is read again by the
/// slower parser, which can say where and why it is invalid.
JsonTree parse_json_tree(std::string_view text, std::string file);

/// Reads with simdjson, several times as fast. Absent if the other parser would throw, or if a
/// number does not fit in 64 bits.
std::optional<JsonTree> read_at_once(std::string_view text, std::string file);
/// Reads with nlohmann's parser.
JsonTree read_piece_by_piece(std::string_view text, std::string file);

}  // namespace ddpsim
