#include "ddpsim/jobs/memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "ddpsim/sim/values/size_text.hpp"

namespace ddpsim {
namespace {

/// The memory of a GPU: as stated, else what the cluster's GPU has.
struct MemoryThere {
  Bytes bytes;
  bool stated = false;
};

/// The memory does not suffice, or may not.
struct MemoryProblem {
  Diagnostic diagnostic;
  /// What would make it fit; part of the diagnostic's hint.
  std::string remedy;
  /// The stated memory is exceeded, or nobody ran the job this way: there is no answer. Otherwise
  /// this is only a warning.
  bool refused = false;
};

/// "A batch of 37 would fit by the same count". Empty if no batch would, or if nothing scales with
/// it.
std::string batch_that_fits(const PeakMemory& peak, Bytes there, const Workload& workload) {
  if (!workload.batch_per_gpu || !peak.activations || peak.at != PeakMoment::backward) return "";
  const auto fixed = static_cast<double>((peak.total() - *peak.parts.activations).count());
  const double each = static_cast<double>(peak.parts.activations->count()) /
                      static_cast<double>(*workload.batch_per_gpu);
  const double batch = (static_cast<double>(there.count()) - fixed) / each;
  return batch < 1 ? ""
                   : fmt::format("A batch of {} would fit by the same count",
                                 static_cast<std::int64_t>(batch));
}

/// Whether ranks hold shards of parameters or of the optimizer's state.
struct Shards {
  bool operator()(const Fsdp1& of) const { return of.strategy != ShardingStrategy::no_shard; }
  bool operator()(const Fsdp2& of) const { return of.group != 1; }
  bool operator()(const Zero& /*of*/) const { return true; }
  bool operator()(const MegatronOptimizer& /*of*/) const { return true; }
  bool operator()(const ZeroRedundancy& /*of*/) const { return true; }
  bool operator()(const auto& /*of*/) const { return false; }
};

/// Whether the job was recorded on that GPU with that batch. A variant with more memory would prove
/// nothing.
bool was_run(const Job& job) {
  const Workload& workload = job.workload();
  const std::optional<GpuModel> gpu = recorded_on(workload);
  return !is_estimate(workload) && !workload.carried_over && gpu &&
         gpu->name == job.cluster().gpu.name &&
         (gpu->variant_open || gpu->memory <= job.cluster().gpu.memory);
}

/// "A100-40GB has 40 GiB". If the name leaves the variant open, says which one was assumed.
std::string memory_there(const GpuModel& gpu, Bytes memory) {
  return gpu.variant_open ? fmt::format("{} (assumed to be {}) has {}", gpu.name, gpu.variant,
                                        rounded_size_text(memory))
                          : fmt::format("{} has {}", gpu.product(), rounded_size_text(memory));
}

/// `workload` is the name as given. Absent if everything fits.
std::optional<MemoryProblem> memory_problem(const PeakMemory& peak, const MemoryThere& there,
                                            const Job& job, const std::string& workload) {
  const bool fits = peak.total() <= there.bytes;
  if (fits && (peak.activations || !there.stated)) return std::nullopt;
  MemoryProblem problem;
  Diagnostic& diagnostic = problem.diagnostic;
  diagnostic.file = workload;
  if (fits) {
    diagnostic.message = fmt::format(
        "it needs {1} without activations, whose size is unknown, so it may not fit into {0}",
        rounded_size_text(there.bytes), rounded_size_text(peak.total()));
    return problem;
  }
  problem.refused = there.stated || !was_run(job);
  diagnostic.message =
      fmt::format("needs {} {} of memory per GPU, but {}", peak.activations ? "about" : "more than",
                  rounded_size_text(peak.total()),
                  there.stated ? "--memory gives it " + rounded_size_text(there.bytes)
                               : memory_there(job.cluster().gpu, there.bytes));
  std::vector<std::string> remedies = {batch_that_fits(peak, there.bytes, job.workload())};
  const bool by_layers = peak.activations && !peak.activations->recorded;
  const Bytes kept = peak.total() - peak.parts.activations.value_or(Bytes());
  // Share of the memory beyond which activations have too little left.
  constexpr double kRoom = 0.9;
  if (!there.stated && by_layers)
    remedies.push_back(
        static_cast<double>(kept.count()) > kRoom * static_cast<double>(there.bytes.count())
            ? fmt::format("Without activations {} of it remain. {}", rounded_size_text(kept),
                          std::visit(Shards(), job.options().scheme)
                              ? "More nodes shard it further"
                              : "Shard it with --scheme fsdp2")
            : "With activation checkpointing or fused attention it needs less");
  std::erase(remedies, "");
  problem.remedy = fmt::format("{}", fmt::join(remedies, ". "));
  if (!there.stated) remedies.emplace_back("To simulate it anyway, pass --memory");
  diagnostic.hint = fmt::format("{}", fmt::join(remedies, ". "));
  return problem;
}

}  // namespace

CountedMemory count_memory(BuiltJob& built) {
  CountedMemory counted{.peak = peak_memory(built.job), .problem = {}, .remedy = {}};
  const MemoryThere there = {.bytes = built.memory.value_or(built.job.cluster().gpu.memory),
                             .stated = built.memory.has_value()};
  std::optional<MemoryProblem> problem =
      memory_problem(counted.peak, there, built.job, built.provenance.workload_source);
  if (!problem) return counted;
  counted.remedy = std::move(problem->remedy);
  if (problem->refused)
    counted.problem = std::move(problem->diagnostic);
  else
    built.trust.warnings.overturn("memory: " + problem->diagnostic.message);
  return counted;
}

PeakMemory require_memory(BuiltJob& built) {
  CountedMemory counted = count_memory(built);
  if (counted.problem) throw InputError(*std::move(counted.problem));
  return counted.peak;
}

}  // namespace ddpsim
