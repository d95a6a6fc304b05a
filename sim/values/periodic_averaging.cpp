#include "ddpsim/sim/values/periodic_averaging.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace ddpsim {

SchemeFacts PeriodicAveraging::facts() const {
  return {.runs_reducer = false,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = false};
}

std::vector<SchemeOption> PeriodicAveraging::options() {
  SchemeOption every = count_option("period", period);
  SchemeOption levels{.name = "hierarchy", .in_force = {}};
  levels.value = SchemeOption::Levels{
      [this](std::vector<AveragingLevel> given) { hierarchy = std::move(given); }};
  if (!hierarchy.empty()) {
    std::vector<std::string> words;
    for (const AveragingLevel& level : hierarchy)
      words.push_back(fmt::format("{}:{}", level.period, level.ranks));
    levels.in_force = fmt::format("{}", fmt::join(words, "+"));
    every.in_force.reset();
  }
  return {std::move(every), std::move(levels)};
}

std::vector<int> PeriodicAveraging::groups(int /*gpus_per_node*/) const {
  std::vector<int> groups;
  for (std::size_t k = 0; k + 1 < hierarchy.size(); ++k) groups.push_back(hierarchy[k].ranks);
  return groups;
}

}  // namespace ddpsim
