#include "candidate_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "help_group.hpp"
#include "repeatable.hpp"
#include "scheme_arguments.hpp"

namespace ddpsim {
namespace {

/// Returns the batch per GPU that makes up the global batch.
std::int64_t batch_of_each(std::int64_t global_batch, int ranks) {
  if (global_batch % ranks != 0)
    throw UsageError(fmt::format("--global-batch {}", global_batch),
                     fmt::format("the batch cannot be divided evenly among {} GPUs", ranks));
  return global_batch / ranks;
}

}  // namespace

void add_candidate_options(CLI::App& command, CandidateArguments& arguments) {
  add_job_options(command, arguments.job);
  hide_run_options(command);
  for (const char* name : {"--bucket-cap-mb", "--comm-hook", "--accumulate", "--batch"})
    uncommon(command.get_option(name));
  // These options take one value in a job. Here they take one for each cluster or GPU.
  for (const char* name : {"CLUSTER", "--scheme", "--gpu", "--compute-scale", "--measured-step"})
    command.remove_option(command.get_option(name));
  add_schemes_option(command, arguments.schemes);
  const HelpGroup recording(command, kRecordingGroup);
  const auto add = [&](const char* name, std::vector<std::string>& values, const char* help,
                       const char* value) {
    return repeatable(command.add_option(name, values, help))->type_name(value);
  };
  common(add("--gpu", arguments.gpus,
             "Accept this GPU of a cluster, not the recorded one; times are scaled layer by "
             "layer; repeatable",
             "NAME"));
  add("--compute-scale", arguments.compute_scales,
      "State how many times as fast as the recorded GPU this GPU, or any other, is: "
      "A100:2.3±0.2; repeatable",
      "[GPU:]FACTOR");
  common(add("--measured-step", arguments.measured_steps,
             "Start from a candidate's measured, unprofiled step: dgxa100@4=104ms or "
             "dgxa100@4=FILE; repeatable",
             "LABEL=TIME"));
  common(
      command.add_option("--global-batch", arguments.global_batch,
                         "Give every candidate this many samples over all its GPUs (default: the "
                         "same batch per GPU)"))
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->excludes("--batch");
}

std::optional<std::string> own_step(const std::string& text, const Candidate& candidate) {
  for (const std::string& name : {candidate.label, candidate.cluster})
    if (text.starts_with(name + '=')) return text.substr(name.size() + 1);
  return std::nullopt;
}

std::optional<std::string> scheme_text_of(const Candidate& candidate,
                                          const CandidateArguments& arguments) {
  if (!candidate.scheme.empty()) return candidate.scheme;
  return arguments.schemes.empty() ? std::nullopt : std::optional(arguments.schemes.front());
}

LoadedCandidate load_candidate(const Candidate& candidate, const CandidateArguments& arguments,
                               const JobRequest& request, const LoadedWorkload& workload,
                               GpuSettings& gpus, NotCompared& known,
                               const ClusterReaders& readers) {
  JobRequest own = request;
  own.cluster.text = candidate.cluster;
  if (const auto scheme = scheme_text_of(candidate, arguments)) own.scheme = parse_scheme(*scheme);
  const Cluster cluster = readers.cluster(own.cluster);
  gpus.apply(workload.workload, cluster, own.compute);
  known.ranks = cluster.ranks();
  if (arguments.global_batch)
    own.compute.batch = batch_of_each(*arguments.global_batch, *known.ranks);
  BuiltJob job = build_job(own, workload, readers);
  job.provenance.label = candidate.label;
  require_supported(job.job.options().ddp(), job.job.options().torch);
  require_simulatable(job);
  CountedMemory memory = count_memory(job);
  known.memory = memory.peak;
  if (memory.problem) throw InputError(*std::move(memory.problem));
  return {candidate, std::move(own), std::move(job), std::move(memory.peak)};
}

}  // namespace ddpsim
