// Steps measured on candidates of a sweep. They correct the other points by the same rule as in `compare`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "known_steps.hpp"

namespace ddpsim {

struct Anchor {
  std::size_t candidate = 0;
  std::string label;
  Job job;
  MeasuredStep measured;
  std::vector<std::string> warnings;  ///< from reading the measurement
};

/// Returns the step of a job on `candidate`, corrected by at least one anchor. `alike` says whether the job has the options with which
/// steps were measured.
KnownStep anchored_step(const Job& job, std::size_t candidate, bool alike,
                        const std::vector<Anchor>& anchors);

}  // namespace ddpsim
