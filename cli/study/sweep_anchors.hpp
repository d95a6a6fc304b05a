// Steps that were measured on candidates of a sweep: what they say of its other points is what `compare` makes of them.
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
  std::vector<std::string> warnings;  ///< of how it was read
};

/// `candidate`, `alike`: the job is on that candidate, and whether its options are those that steps were measured with.
/// There is at least one anchor.
KnownStep anchored_step(const Job& job, std::size_t candidate, bool alike,
                        const std::vector<Anchor>& anchors);

}  // namespace ddpsim
