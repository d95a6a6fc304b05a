#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Names that tell where a job runs, not how fast.
bool says_only_where(std::string_view name) {
  constexpr std::array<std::string_view, 11> kWhere = {
      "TORCHELASTIC_RUN_ID", "NCCL_DEBUG_FILE",      "NCCL_TOPO_DUMP_FILE", "NCCL_COMM_ID",
      "NCCL_HOSTID",         "NCCL_GRAPH_DUMP_FILE", "TORCH_HOME",          "CUDA_CACHE_PATH",
      "CUDA_HOME",           "LOCAL_WORLD_SIZE",     "WORLD_SIZE"};
  return std::ranges::find(kWhere, name) != kWhere.end();
}

/// A file created for each run is no setting. aws-ofi-nccl passes NCCL its topology this way.
bool is_temporary(const std::set<std::string>& values) {
  return std::ranges::all_of(values,
                             [](const std::string& value) { return value.starts_with("/tmp/"); });
}

/// NCCL's defaults, equal in all its versions, from its user guide. Setting a variable to its
/// default changes nothing.
bool is_default(std::string_view name, const std::set<std::string>& values) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kDefaults = {
      {{"NCCL_BUFFSIZE", "4194304"},
       {"NCCL_CROSS_NIC", "2"},
       {"NCCL_IB_RETRY_CNT", "7"},
       {"NCCL_IB_SL", "0"},
       {"NCCL_IB_TC", "0"},
       {"NCCL_IB_QPS_PER_CONNECTION", "1"},
       {"NCCL_IGNORE_CPU_AFFINITY", "0"}}};
  const auto known = std::ranges::find(kDefaults, name, &decltype(kDefaults)::value_type::first);
  return values.empty() || (known != kDefaults.end() && values.size() == 1 &&
                            values.contains(std::string(known->second)));
}

/// The effect on a step when a known variable changes. Absent if neither value costs time.
std::optional<FindingEffect> effect_of(std::string_view name, const std::set<std::string>& before,
                                       const std::set<std::string>& after) {
  if (is_default(name, before) && is_default(name, after)) return std::nullopt;
  if (!value_costs(name, "")) return FindingEffect::either;
  const auto cost = [&](const std::set<std::string>& values) {
    return std::ranges::any_of(values,
                               [&](const std::string& value) { return *value_costs(name, value); });
  };
  // For these variables, values that no rule calls costly are not defaults either.
  constexpr std::array<std::string_view, 5> kOfSeveral = {"NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL",
                                                          "NCCL_NET_GDR_READ", "NCCL_NET",
                                                          "CUDA_DEVICE_MAX_CONNECTIONS"};
  if (!cost(before) && !cost(after))
    return std::ranges::find(kOfSeveral, name) != kOfSeveral.end()
               ? std::optional(FindingEffect::either)
               : std::nullopt;
  // A limit, or a choice taken away from NCCL, may have been an improvement.
  const bool weighs = name.find("CHANNELS") != std::string_view::npos ||
                      name.find("CTAS") != std::string_view::npos || name == "NCCL_ALGO" ||
                      name == "NCCL_PROTO" || name == "NCCL_PXN_DISABLE";
  if (weighs || cost(before) == cost(after)) return FindingEffect::either;
  return cost(after) ? FindingEffect::costs : FindingEffect::relieves;
}

std::set<std::string> values_of(const EnvironmentFacts& facts, std::string_view name) {
  std::set<std::string> values;
  for (const EnvironmentVariable& variable : facts.variables)
    if (variable.name == name) values.insert(variable.value);
  return values;
}

std::string shown_values(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + in_quotes(value);
  return values.empty() ? "not set" : text;
}

}  // namespace

std::vector<Finding> environment_changes(const EnvironmentFacts& before,
                                         const EnvironmentFacts& after, const NcclFacts& nccl,
                                         bool by_nccl) {
  std::set<std::string> names;
  for (const EnvironmentFacts* facts : {&before, &after})
    for (const EnvironmentVariable& variable : facts->variables) names.insert(variable.name);
  std::set<std::string> said;  // places of the new side's own problems
  for (const Finding& problem : environment_problems(after, {})) said.insert(problem.place);
  const std::vector<Finding> problems = environment_problems(before, nccl);
  std::vector<Finding> findings;
  for (const std::string& name : names) {
    if (says_only_where(name)) continue;
    const std::set<std::string> old_values = values_of(before, name);
    const std::set<std::string> new_values = values_of(after, name);
    if (old_values == new_values) continue;
    const EnvironmentVariable* was = before.find(name);
    const EnvironmentVariable* now = after.find(name);
    // A variable absent from a list was not set. If nobody listed variables, it is unknown. NCCL
    // prints those that it reads.
    const bool told =
        by_nccl && ((was != nullptr && was->by_nccl) || (now != nullptr && now->by_nccl));
    if (old_values.empty() && before.listed == 0 && !told) continue;
    if (new_values.empty() && after.listed == 0 && !told) continue;
    if (name == "NCCL_TOPO_FILE" && is_temporary(old_values) && is_temporary(new_values)) continue;
    const auto effect = effect_of(name, old_values, new_values);
    if (!effect) continue;
    if (now != nullptr && said.contains(now->place)) continue;
    // A fault that is gone keeps its own class.
    const auto fault = std::ranges::find_if(problems, [&](const Finding& problem) {
      return was != nullptr && *effect == FindingEffect::relieves && problem.place == was->place &&
             problem.says.starts_with(name + "=");
    });
    findings.push_back(
        {.what = fault != problems.end() ? fault->what : CauseClass::environment_changed,
         .says = fmt::format("{} was {} and is {}{}", name, shown_values(old_values),
                             shown_values(new_values),
                             fault != problems.end() ? "" : "; set it back to see the cost"),
         .place = now != nullptr ? now->place : name,
         .effect = *effect});
  }
  for (const auto& [name, now] : after.versions) {
    const auto was = before.versions.find(name);
    if (was == before.versions.end() || was->second.value == now.value) continue;
    const bool of_job = !before.versions_of_another_python && !after.versions_of_another_python;
    if (!of_job && name != "kernel" && name != "driver") continue;
    findings.push_back(
        {.what = CauseClass::version_changed,
         .says = fmt::format("{} was {} and is {}; run the current job with the old version to "
                             "see the cost",
                             name, was->second.value, now.value),
         .place = now.place});
  }
  return findings;
}

}  // namespace ddpsim
