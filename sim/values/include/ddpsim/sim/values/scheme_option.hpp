// One option of a data-parallel scheme: its name, its value in force and how a new value is set. A
// scheme lists its options once, and all code that reads or writes them uses that list.
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
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// The most steps, ranks or shards that an option takes.
inline constexpr std::int64_t kMostRanksOrSteps = 1'000'000;

/// A level of HierarchicalModelAverager: every `period` steps, groups of `ranks` ranks average
/// their parameters, unless a higher level does so in that step.
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
    /// A word of the library that is not simulated.
    std::string_view refused = {};
    /// Why it is not simulated.
    std::string_view because = {};
  };
  /// A whole number.
  struct Whole {
    std::int64_t least;
    std::int64_t most;
    std::function<void(std::int64_t)> set;
  };
  /// A number in some unit: "megabytes", "GB/s".
  struct Real {
    std::string_view unit;
    double least;
    double most;
    std::function<void(double)> set;
  };
  /// Paths of modules, separated by '+'.
  struct Paths {
    std::function<void(std::vector<std::string>)> set;
  };
  /// PERIOD:RANKS, separated by '+'.
  struct Levels {
    std::function<void(std::vector<AveragingLevel>)> set;
  };
  /// A release of DeepSpeed: "0.16.9".
  struct Release {
    std::function<void(DeepSpeedVersion)> set;
  };

  std::string_view name;
  /// The value in the form that --scheme takes. Absent: reports leave the option out.
  std::optional<std::string> in_force;
  Words words = {};
  /// What it takes in addition to words.
  std::variant<std::monostate, Whole, Real, Paths, Levels, Release> value = {};
};

/// The values that an option's words stand for. Several words may stand for one value; the first is
/// printed.
template <typename Value>
using WordTable = std::vector<std::pair<Value, std::string_view>>;

template <typename Value>
std::string_view word_for(const WordTable<Value>& table, const Value& value) {
  for (const auto& [known, word] : table)
    if (known == value) return word;
  return table.front().second;
}

/// The option sets a member of its scheme, which must outlive the option.
template <typename Value>
SchemeOption word_option(std::string_view name, Value& value, const WordTable<Value>& table) {
  SchemeOption option{.name = name, .in_force = std::string(word_for(table, value))};
  for (const auto& [known, word] : table) option.words.words.push_back(word);
  option.words.set = [&value, table](std::size_t chosen) { value = table[chosen].first; };
  return option;
}

SchemeOption flag_option(std::string_view name, bool& value);
/// `in_force` is the value if none is set.
SchemeOption flag_option(std::string_view name, std::optional<bool>& value, bool in_force);
SchemeOption dtype_option(std::string_view name, std::optional<Dtype>& value,
                          std::optional<Dtype> in_force);
/// param_dtype and reduce_dtype. `own_types` becomes true if the user says "parameters" for either.
std::vector<SchemeOption> mixed_precision_options(std::optional<Dtype>& param_dtype,
                                                  std::optional<Dtype>& reduce_dtype,
                                                  bool& own_types);
/// Accepts `least` to 10^15.
SchemeOption elements_option(std::string_view name, std::int64_t& value, std::int64_t least = 1);
/// Reports leave the option out if it is not set.
SchemeOption elements_option(std::string_view name, std::optional<std::int64_t>& value);
/// Accepts 1 to kMostRanksOrSteps.
SchemeOption count_option(std::string_view name, int& value);
/// If the option is not set, `otherwise` is in force. Without `otherwise`, reports then leave the
/// option out.
SchemeOption ranks_option(std::string_view name, std::optional<int>& value,
                          std::optional<int> otherwise = {});
/// Accepts `least` to 10^6 megabytes, of 10^6 bytes each.
SchemeOption megabytes_option(std::string_view name, Bytes& value, double least);
SchemeOption rate_option(std::string_view name, std::optional<std::string> in_force,
                         std::function<void(Bandwidth)> set);

/// The rates of a host that keeps shards. Reports show them only if it keeps any.
std::vector<SchemeOption> offload_rates(CpuOffload& offload);
/// FSDP's "cpu_offload", which holds for all shards or none, and the options that go with it.
std::vector<SchemeOption> cpu_offload_options(CpuOffload& offload);

std::vector<SchemeOption> joined(std::vector<SchemeOption> first, std::vector<SchemeOption> second);

}  // namespace ddpsim
