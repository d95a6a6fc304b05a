// The comparison of one workload on all candidates. Candidates on which it does not run have a reason.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "compare_arguments.hpp"

namespace ddpsim {

struct WorkloadComparison {
  std::vector<LoadedCandidate> jobs;
  std::vector<std::size_t> places;  ///< candidate of each job
  std::vector<std::size_t> failed;  ///< candidates that were not compared
  CompareReport report;             ///< without costs, caps and conditions
  /// Returns the job of a candidate, if the workload runs on it.
  std::optional<std::size_t> job_of(std::size_t candidate) const;
};

/// The values of --measured-step, and which of them a candidate has taken.
struct MeasuredTexts {
  const std::vector<std::string>& texts;
  std::vector<bool> taken;
  /// Returns "104ms" of "WORKLOAD:LABEL=104ms" or "LABEL=104ms" if they mean this candidate.
  static std::optional<std::string> step_of(const std::string& text, const std::string& workload,
                                            const Candidate& candidate);
};

/// Compares `request.workload` on all candidates. With `several` workloads, a measured step also names its workload. Throws the reason
/// of the first candidate if the workload runs on none.
WorkloadComparison compare_workload(const CompareArguments& arguments, const JobRequest& request,
                                    const LoadedWorkload& workload, bool several,
                                    const std::vector<Candidate>& candidates, GpuSettings& gpus,
                                    MeasuredTexts& measured, const ClusterReaders& readers,
                                    Progress* progress);

}  // namespace ddpsim
