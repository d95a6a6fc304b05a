#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "ddpsim/calibrate/environment_facts.hpp"
#include "ddpsim/calibrate/nccl_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

/// Names that say where a job runs, not how fast.
bool says_only_where(std::string_view name) {
  constexpr std::array<std::string_view, 9> kWhere = {
      "TORCHELASTIC_RUN_ID", "NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE",
      "NCCL_COMM_ID",        "NCCL_HOSTID",     "NCCL_GRAPH_DUMP_FILE",
      "TORCH_HOME",          "CUDA_CACHE_PATH", "CUDA_HOME"};
  return std::ranges::find(kWhere, name) != kWhere.end();
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
                                         const EnvironmentFacts& after) {
  std::set<std::string> names;
  for (const EnvironmentFacts* facts : {&before, &after})
    for (const EnvironmentVariable& variable : facts->variables) names.insert(variable.name);
  std::set<std::string> said;  // places of what the new side's own problems say
  for (const Finding& problem : environment_problems(after, {})) said.insert(problem.place);
  std::vector<Finding> findings;
  for (const std::string& name : names) {
    if (says_only_where(name)) continue;
    const std::set<std::string> old_values = values_of(before, name);
    const std::set<std::string> new_values = values_of(after, name);
    if (old_values == new_values) continue;
    // Absent of a list is not set; absent where nobody listed anything is unknown.
    if (old_values.empty() && before.listed == 0) continue;
    if (new_values.empty() && after.listed == 0) continue;
    const EnvironmentVariable* now = after.find(name);
    if (now != nullptr && said.contains(now->place)) continue;
    findings.push_back(
        {.what = FindingClass::environment_changed,
         .says = fmt::format("{} was {} and is {}: set it back to see what it costs", name,
                             shown_values(old_values), shown_values(new_values)),
         .place = now != nullptr ? now->place : name});
  }
  for (const auto& [name, now] : after.versions) {
    const auto was = before.versions.find(name);
    if (was == before.versions.end() || was->second.value == now.value) continue;
    const bool of_job = !before.versions_of_another_python && !after.versions_of_another_python;
    if (!of_job && name != "kernel" && name != "driver") continue;
    findings.push_back(
        {.what = FindingClass::version_changed,
         .says = fmt::format("{} was {} and is {}: run today's job with the old one to see what it "
                             "costs",
                             name, was->second.value, now.value),
         .place = now.place});
  }
  return findings;
}

}  // namespace ddpsim
