// An option whose text is KEY=VALUE,…: each key once, each with a reader of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What one key takes, and where it goes. `take` returns what is wrong with a value, empty where nothing is.
struct OptionKey {
  std::string name;
  std::function<std::string(const std::string& value)> take;
};

OptionKey flag_key(const std::string& name, bool& into);
/// A whole number from `least` to `most`.
OptionKey count_key(const std::string& name, std::function<void(std::int64_t)> into,
                    std::int64_t least, std::int64_t most);
/// Not negative, ten minutes at most.
OptionKey duration_key(const std::string& name, std::function<void(Duration)> into);
/// 100 GB at most.
OptionKey bytes_key(const std::string& name, std::function<void(Bytes)> into);
/// From 1 kB/s to 100 TB/s.
OptionKey bandwidth_key(const std::string& name, std::function<void(Bandwidth)> into);

/// Returns the keys given. Throws UsageError that names `option`.
std::vector<std::string> take_keys(const std::string& option, std::string_view text,
                                   const std::vector<OptionKey>& keys);

}  // namespace ddpsim
