// Strict JSON text -> tree. What nlohmann's parser would let pass (duplicate keys, any depth) is an error here, and every
// error has a line and a column.
//
// The tree is one list of values in the order of the text, each before what it holds: a file of ten million values is read
// as fast as memory is filled, and goes at once.
//
//   {"a": [1, 2]}    0 object, up to 4    1 "a" of 0: array, up to 4    2 item 0 of 1: 1    3 item 1 of 1: 2
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

inline constexpr int kDeepestNesting = 64;
/// What JsonValue can count.
inline constexpr std::uint64_t kMostJsonBytes = std::uint64_t{1} << 32;

enum class JsonKind : std::uint8_t {
  null,
  boolean,
  integer,
  natural,  ///< an integer beyond 2^63 - 1
  real,     ///< written with a point or an exponent, or an integer that 64 bits do not hold
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
  std::uint32_t parent = 0;  ///< whose item or member it is
  std::uint32_t name = 0;  ///< a member's, in JsonTree::names; of an item: how many stand before it
  std::uint32_t behind = 0;  ///< the first value behind it and all it holds
  union {
    bool boolean;
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
    Text text;  ///< in JsonTree::texts
  };
};

struct JsonTree {
  std::string file;
  std::vector<JsonValue> values;   ///< the first is the document itself
  std::vector<std::string> names;  ///< each once, however many members have it
  std::string texts;

  std::string_view text_of(const JsonValue& value) const {
    return std::string_view(texts).substr(value.text.begin, value.text.size);
  }
  const std::string& name_of(const JsonValue& member) const { return names[member.name]; }
};

/// Throws InputError. A valid document is read at once; what is not one is read once more, by the reader that can say where
/// and why.
JsonTree parse_json_tree(std::string_view text, std::string file);

/// By simdjson, several times as fast; absent where the other throws, or where it has a number beyond 64 bits.
std::optional<JsonTree> read_at_once(std::string_view text, std::string file);
/// By nlohmann's parser.
JsonTree read_piece_by_piece(std::string_view text, std::string file);

}  // namespace ddpsim
