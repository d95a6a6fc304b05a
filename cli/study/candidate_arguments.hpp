// Options of commands that run a workload on several clusters. They are the options of a job, except that some of them take a value
// for each cluster or GPU.
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

/// Adds all options and WORKLOAD, but not CLUSTER.
void add_candidate_options(CLI::App& command, CandidateArguments& arguments);

/// Returns "104ms" of --measured-step LABEL=104ms if LABEL is this candidate's. A label may contain any character.
std::optional<std::string> own_step(const std::string& text, const Candidate& candidate);

/// Returns the candidate's scheme as typed; nothing means DDP.
std::optional<std::string> scheme_text_of(const Candidate& candidate,
                                          const CandidateArguments& arguments);

/// A candidate, its request with the GPU settings applied, and its job, which has the candidate's label.
struct LoadedCandidate {
  Candidate candidate;
  JobRequest request;
  BuiltJob loaded;
  PeakMemory memory;
};
/// Loads a candidate. Stores its ranks and memory in `known` as soon as they are known. Throws InputError or UsageError if the
/// candidate has no answer.
LoadedCandidate load_candidate(const Candidate& candidate, const CandidateArguments& arguments,
                               const JobRequest& request, const LoadedWorkload& workload,
                               GpuSettings& gpus, NotCompared& known,
                               const ClusterReaders& readers = {});

}  // namespace ddpsim
