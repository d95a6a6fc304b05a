// Strict JSON text -> tree. What nlohmann's parser would let pass (duplicate keys, any depth) is an
// error here, and every error has a line and a column.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ddpsim {

inline constexpr int kDeepestNesting = 64;

/// Throws InputError.
std::shared_ptr<const nlohmann::ordered_json> parse_json_tree(std::string_view text,
                                                              const std::string& file);

}  // namespace ddpsim
