// environment_table has what the value of a single variable costs. This file decides whether that
// can matter to the job, and finds problems that need several variables.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"
#include "ddpsim/formats/words.hpp"
#include "environment_table.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

bool logs_each_call(std::string_view value) {
  const std::string lower = ',' + in_small_letters(value) + ',';
  return lower.find(",all,") != std::string::npos || lower.find(",coll,") != std::string::npos;
}
bool is_idle(const CostlyValues& rule, const NcclFacts& nccl) {
  // InfiniBand is switched off, but a plugin sends, so nothing is lost.
  if (rule.what == CauseClass::socket_instead_of_ib && nccl.sends_beside_sockets()) return true;
  const LoggedCommunicator* job = nccl.largest();
  if (rule.matters_to == MattersTo::any_job || job == nullptr) return false;
  if (rule.matters_to == MattersTo::several_nodes) return job->nodes == 1;
  return job->local_ranks == 1 || job->nodes == job->ranks;
}

/// Level INFO prints what its subsystems report. COLL and ALL report something at every call.
void add_subsystems(const EnvironmentFacts& facts, std::vector<Finding>& findings) {
  const EnvironmentVariable* level = facts.find("NCCL_DEBUG");
  const EnvironmentVariable* of = facts.find("NCCL_DEBUG_SUBSYS");
  if (level == nullptr || of == nullptr || in_small_letters(level->value) != "info") return;
  if (!logs_each_call(of->value)) return;
  findings.push_back(
      {.what = CauseClass::debug_level,
       .says = fmt::format("NCCL_DEBUG_SUBSYS={} prints at each call (NCCL); do not train with "
                           "ALL or COLL",
                           of->value),
       .place = of->place});
}

/// Threads for PyTorch's operations on the host, from OpenMP or PyTorch's own pool. Each rank
/// starts OMP_NUM_THREADS of them, or one per core. If nobody set the variable, torchrun sets it to
/// 1, which says nothing.
void add_host_threads(const EnvironmentFacts& facts, const NcclFacts& nccl,
                      std::vector<Finding>& findings) {
  std::optional<int> per_node = facts.ranks_per_node;
  if (!per_node && nccl.largest() != nullptr) per_node = nccl.largest()->local_ranks;
  if (!facts.cores) return;
  const int cores = *facts.cores;
  if (facts.allowed_cores && *facts.allowed_cores <= 2 &&
      std::int64_t{*facts.allowed_cores} * per_node.value_or(1) * 4 <= cores)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says =
             fmt::format("a rank may run on only {} of {} cores, which its launches, data loader "
                         "workers and NCCL's threads share. Give it more (--bind-to, "
                         "--cpus-per-task, taskset)",
                         *facts.allowed_cores, cores),
         .place = facts.allowed_place});
  if (per_node.value_or(1) < 2) return;
  const int ranks = *per_node;
  const EnvironmentVariable* omp = facts.find("OMP_NUM_THREADS");
  const auto threads = omp ? leading_number<int>(omp->value) : std::nullopt;
  if (!omp) {
    if (facts.torchrun || !facts.other_launcher || facts.listed == 0) return;
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format(
             "OMP_NUM_THREADS is not set, so each of {} ranks starts a thread for each of {} "
             "cores. They compete for cores with each other and with data loaders. Set it to {} "
             "or less",
             ranks, cores, std::max(1, cores / ranks)),
         .place = "OMP_NUM_THREADS"});
    return;
  }
  if (!threads || *threads < 1) return;
  if (static_cast<std::int64_t>(*threads) * ranks > cores)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS={} on {} ranks gives {} threads for {} cores. They "
                             "compete for cores with each other and with data loaders. Set it to "
                             "{} or less",
                             *threads, ranks, static_cast<std::int64_t>(*threads) * ranks, cores,
                             std::max(1, cores / ranks)),
         .place = omp->place});
  else if (*threads == 1 && facts.other_launcher && !facts.torchrun && cores / ranks >= 4)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS=1 gives operations on the host one of the {} cores "
                             "of a rank. This slows only input transforms and optimizers on the "
                             "host; try {}",
                             cores / ranks, cores / ranks / 2),
         .place = omp->place});
}

}  // namespace

std::vector<Finding> environment_problems(const EnvironmentFacts& facts, const NcclFacts& nccl) {
  std::vector<Finding> findings;
  for (const EnvironmentRow& row : environment_table()) {
    if (!row.costly || is_idle(*row.costly, nccl)) continue;
    for (const EnvironmentVariable& variable : facts.variables) {
      if (variable.name != row.name) continue;
      if (variable.value.starts_with('<')) continue;  // hidden by whoever collected it
      if (auto finding = costly_value(variable)) findings.push_back(*std::move(finding));
    }
  }
  add_subsystems(facts, findings);
  add_host_threads(facts, nccl, findings);
  return findings;
}

std::optional<Finding> costly_value(const EnvironmentVariable& variable) {
  if (!value_costs(variable.name, variable.value).value_or(false)) return std::nullopt;
  const CostlyValues& rule = *find_environment_row(variable.name)->costly;
  return Finding{.what = rule.what,
                 .says = fmt::format("{}={} {}", variable.name, variable.value, rule.sentence),
                 .place = variable.place};
}

std::optional<bool> value_costs(std::string_view name, std::string_view value) {
  const EnvironmentRow* row = find_environment_row(name);
  if (row == nullptr || !row->costly) return std::nullopt;
  return row->costly->test(value);
}

}  // namespace ddpsim
