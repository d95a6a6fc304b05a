// Any bytes as JSON: reading piece by piece gives the same as reading at once.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "json_tree.hpp"

namespace {

bool equal(const ddpsim::JsonTree& one, const ddpsim::JsonTree& other) {
  if (one.names != other.names || one.texts != other.texts) return false;
  if (one.values.size() != other.values.size()) return false;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    const ddpsim::JsonValue& a = one.values[i];
    const ddpsim::JsonValue& b = other.values[i];
    if (a.kind != b.kind || a.parent != b.parent || a.name != b.name || a.behind != b.behind)
      return false;
    if (std::memcmp(&a.integer, &b.integer, sizeof a.integer) != 0) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = ddpsim::read_at_once(text, "f.json");
  try {
    const ddpsim::JsonTree slowly = ddpsim::read_piece_by_piece(text, "f.json");
    if (tree && !equal(*tree, slowly)) __builtin_trap();
  } catch (const ddpsim::InputError&) {
    if (tree) __builtin_trap();
  }
  return 0;
}
