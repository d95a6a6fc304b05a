// What is asked of each of several clusters a workload is held against: a job's options, but those that one job has
// once are given cluster by cluster or GPU by GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidates.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "gpu_settings.hpp"
#include "job_arguments.hpp"

namespace ddpsim {

struct CandidateArguments {
  JobArguments job;
  std::vector<std::string> schemes;
  std::vector<std::string> gpus;
  std::vector<std::string> compute_scales;
  std::vector<std::string> measured_steps;
  std::optional<std::int64_t> global_batch;
};

/// All but CLUSTER.
void add_candidate_options(CLI::App& command, CandidateArguments& arguments);

/// What --measured-step LABEL=104ms says of this candidate, if it is of this one. A label may hold any character.
std::optional<std::string> own_step(const std::string& text, const Candidate& candidate);

/// The scheme of the candidate as typed; absent: DDP, because nobody asked.
std::optional<std::string> scheme_text_of(const Candidate& candidate,
                                          const CandidateArguments& arguments);

/// What is asked of the candidate, after `gpus`, and its job, called by its label. Its ranks and memory go to `known` as soon
/// as they are. Throws InputError or UsageError where there is no answer for it.
struct LoadedCandidate {
  Candidate candidate;
  JobRequest request;
  BuiltJob loaded;
  PeakMemory memory;
};
LoadedCandidate load_candidate(const Candidate& candidate, const CandidateArguments& arguments,
                               const JobRequest& request, const LoadedWorkload& workload,
                               GpuSettings& gpus, NotCompared& known,
                               const ClusterReaders& readers = {});

}  // namespace ddpsim
