#include "cannot_wrap.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "ddpsim/sim/values/limits.hpp"
#include "kernel_costs.hpp"
#include "units.hpp"

namespace ddpsim {
namespace {

/// Names of the first few modules that own parameters.
std::string some_modules(const Workload& workload) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const Parameter& parameter : workload.parameters) {
    const std::string name = parameter.name.substr(0, parameter.name.rfind('.'));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  const bool more = names.size() > kMost;
  if (more) names.resize(kMost);
  return fmt::format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

}  // namespace

std::optional<std::string> cannot_wrap(const Job& job, const WrapPolicy& wrap) {
  const std::vector<Unit> units = units_of(job.workload(), wrap);
  if (wrap.by == WrapPolicy::By::modules &&
      std::ranges::all_of(units, [](const Unit& unit) { return unit.module.empty(); }))
    return fmt::format("wrap={}: the workload has no module of that name; it has {}", text_of(wrap),
                       some_modules(job.workload()));
  if (4 * static_cast<std::int64_t>(units.size()) * job.options().accumulate >
      kMostSimulatedCollectives)
    return fmt::format(
        "{} units in a step of {} micro-batches need too many collectives. At most {} are "
        "simulated",
        units.size(), job.options().accumulate, kMostSimulatedCollectives);
  return std::nullopt;
}

std::optional<std::string> cannot_offload(const Job& job) {
  if (offload_of(job.options().scheme) == nullptr || !KernelCosts(job).on_host())
    return std::nullopt;
  return "offload: --gloo tensors:host already keeps gradients and parameters on the host. Leave "
         "one of them out";
}

}  // namespace ddpsim
