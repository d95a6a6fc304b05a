// One option of a data-parallel scheme: its name, its value in force and how a new value is set. A scheme lists its options once;
// what writes them and what reads them go through that list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// The most steps, ranks or shards that an option takes.
inline constexpr std::int64_t kMostRanksOrSteps = 1'000'000;

/// HierarchicalModelAverager: every so many steps so many ranks average their parameters, where no higher level does.
struct AveragingLevel {
  int period = 1;
  int ranks = 1;
  bool operator==(const AveragingLevel&) const = default;
};

struct SchemeOption {
  /// One of these words.
  struct Words {
    std::vector<std::string_view> words;
    std::function<void(std::size_t)> set;
    std::string_view refused = {};  ///< a word of the library's that is not simulated …
    std::string_view because = {};  ///< … and why
  };
  /// A whole number.
  struct Whole {
    std::int64_t least;
    std::int64_t most;
    std::function<void(std::int64_t)> set;
  };
  /// A number of some unit: "megabytes", "GB/s".
  struct Real {
    std::string_view unit;
    double least;
    double most;
    std::function<void(double)> set;
  };
  /// Paths of modules, joined by '+'.
  struct Paths {
    std::function<void(std::vector<std::string>)> set;
  };
  /// PERIOD:RANKS, joined by '+'.
  struct Levels {
    std::function<void(std::vector<AveragingLevel>)> set;
  };

  std::string_view name;
  /// As --scheme takes it. Absent: reports leave the option out.
  std::optional<std::string> in_force;
  Words words = {};
  /// What it takes beside words.
  std::variant<std::monostate, Whole, Real, Paths, Levels> value = {};
};

/// How an option's words stand for values.
template <typename Value>
using WordTable = std::vector<std::pair<Value, std::string_view>>;

template <typename Value>
std::string_view word_for(const WordTable<Value>& table, const Value& value) {
  for (const auto& [known, word] : table)
    if (known == value) return word;
  return table.front().second;
}

/// An option sets a member of its scheme, which must outlive it.
template <typename Value>
SchemeOption word_option(std::string_view name, Value& value, const WordTable<Value>& table) {
  SchemeOption option{.name = name, .in_force = std::string(word_for(table, value))};
  for (const auto& [known, word] : table) option.words.words.push_back(word);
  option.words.set = [&value, table](std::size_t chosen) { value = table[chosen].first; };
  return option;
}

SchemeOption flag_option(std::string_view name, bool& value);
/// `in_force` holds where nothing is set.
SchemeOption flag_option(std::string_view name, std::optional<bool>& value, bool in_force);
SchemeOption dtype_option(std::string_view name, std::optional<Dtype>& value,
                          std::optional<Dtype> in_force);
/// Takes `least` to 10^15.
SchemeOption elements_option(std::string_view name, std::int64_t& value, std::int64_t least = 1);
/// Reports leave it out where nothing is set.
SchemeOption elements_option(std::string_view name, std::optional<std::int64_t>& value);
/// Takes 1 to kMostRanksOrSteps.
SchemeOption count_option(std::string_view name, int& value);
/// Where nothing is set `otherwise` is in force; without that, reports leave the option out.
SchemeOption ranks_option(std::string_view name, std::optional<int>& value,
                          std::optional<int> otherwise = {});
/// Takes `least` to 10^6 megabytes, of 10^6 bytes each.
SchemeOption megabytes_option(std::string_view name, Bytes& value, double least);
SchemeOption rate_option(std::string_view name, std::optional<std::string> in_force,
                         std::function<void(Bandwidth)> set);

/// Returns the rates of a host that keeps shards; reports name them where it keeps any.
std::vector<SchemeOption> offload_rates(CpuOffload& offload);
/// Returns FSDP's "cpu_offload", which holds for all shards or none, with the options beside it.
std::vector<SchemeOption> cpu_offload_options(CpuOffload& offload);

std::vector<SchemeOption> joined(std::vector<SchemeOption> first, std::vector<SchemeOption> second);

}  // namespace ddpsim
