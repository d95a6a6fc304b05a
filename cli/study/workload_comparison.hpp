// One workload on all candidates: those on which it runs, compared; those on which it does not, with their reason.
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
  std::vector<std::size_t> places;  ///< by job, which of the candidates it is
  std::vector<std::size_t> failed;  ///< by what was not compared, the same
  CompareReport report;             ///< without costs, caps and conditions
  /// The job of a candidate; absent where the workload does not run on it.
  std::optional<std::size_t> job_of(std::size_t candidate) const;
};

/// What --measured-step says, and whether anybody took it.
struct MeasuredTexts {
  const std::vector<std::string>& texts;
  std::vector<bool> taken;
  /// Of "WORKLOAD:LABEL=104ms" and "LABEL=104ms" what stands behind the label.
  static std::optional<std::string> step_of(const std::string& text, const std::string& workload,
                                            const Candidate& candidate);
};

/// `request.workload` is the workload; `several`: one of them, so that a measured step names it. Throws the first
/// candidate's reason where it runs on none.
WorkloadComparison compare_workload(const CompareArguments& arguments, const JobRequest& request,
                                    const LoadedWorkload& workload, bool several,
                                    const std::vector<Candidate>& candidates, GpuSettings& gpus,
                                    MeasuredTexts& measured, const ClusterReaders& readers,
                                    Progress* progress);

}  // namespace ddpsim
