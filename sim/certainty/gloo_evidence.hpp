// What gloo's predicted times rest on: logs of the cluster, or the residuals of published steps.
#pragma once

#include <string>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"

namespace ddpsim {

/// 80 % interval of gloo's times, as factors that apply to all of them.
Band gloo_band(const Job& job);

/// Example: "gloo is calibrated with 2 logs of this cluster, but none covers 8 ranks".
std::string gloo_calibration_of(const Job& job);

/// Whether logs of this cluster cover this number of ranks and buckets this large.
bool is_covered_by_gloo_logs(const Job& job);

/// Graded by the same rules as NCCL's times.
Grade gloo_grade(const Job& job, bool step_reproduced);
std::string_view gloo_provenance(const Job& job, Grade grade);

}  // namespace ddpsim
