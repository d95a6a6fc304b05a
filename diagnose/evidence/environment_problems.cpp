// What one variable's value costs stands in environment_table; here, whether it can matter to the job, and what takes several
// variables to tell.
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
  // Told to stay off InfiniBand, and a plugin sends: nothing is lost.
  if (rule.what == CauseClass::socket_instead_of_ib && nccl.sends_beside_sockets()) return true;
  const LoggedCommunicator* job = nccl.largest();
  if (rule.matters_to == MattersTo::any_job || job == nullptr) return false;
  if (rule.matters_to == MattersTo::several_nodes) return job->nodes == 1;
  return job->local_ranks == 1 || job->nodes == job->ranks;
}

/// Level INFO prints what its subsystems say: COLL and ALL say something at each call.
void add_subsystems(const EnvironmentFacts& facts, std::vector<Finding>& findings) {
  const EnvironmentVariable* level = facts.find("NCCL_DEBUG");
  const EnvironmentVariable* of = facts.find("NCCL_DEBUG_SUBSYS");
  if (level == nullptr || of == nullptr || in_small_letters(level->value) != "info") return;
  if (!logs_each_call(of->value)) return;
  findings.push_back(
      {.what = CauseClass::debug_level,
       .says = fmt::format("NCCL_DEBUG_SUBSYS={} prints at each call (NCCL); leave ALL and COLL "
                           "out of trainings",
                           of->value),
       .place = of->place});
}

/// Threads of PyTorch's operations on the host, of OpenMP's or its own pool: each rank starts OMP_NUM_THREADS, or one a
/// core. torchrun sets 1 where nobody did, which is its default and says nothing.
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
             fmt::format("a rank may run on {} of {} cores alone: its launches, its data loader's "
                         "workers and NCCL's threads share them; give it more (--bind-to, "
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
             "OMP_NUM_THREADS is not set: each of {} ranks starts a thread for each of {} cores, "
             "and they take the cores from each other and from data loaders; set it to {} or less",
             ranks, cores, std::max(1, cores / ranks)),
         .place = "OMP_NUM_THREADS"});
    return;
  }
  if (!threads || *threads < 1) return;
  if (static_cast<std::int64_t>(*threads) * ranks > cores)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS={} of {} ranks is {} threads for {} cores, and they "
                             "take the cores from each other and from data loaders; set it to {} "
                             "or less",
                             *threads, ranks, static_cast<std::int64_t>(*threads) * ranks, cores,
                             std::max(1, cores / ranks)),
         .place = omp->place});
  else if (*threads == 1 && facts.other_launcher && !facts.torchrun && cores / ranks >= 4)
    findings.push_back(
        {.what = CauseClass::host_threads,
         .says = fmt::format("OMP_NUM_THREADS=1 leaves operations on the host one of {} cores a "
                             "rank has: transforms of input and optimizers on the host are slower "
                             "so, nothing else; try {}",
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
