// What stands behind gloo's times: logs of the cluster, or what published steps left.
#pragma once

#include <string>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"

namespace ddpsim {

/// Factors on all of gloo's times between which four in five lie.
Band gloo_band(const Job& job);

/// "gloo is calibrated with 2 logs of this cluster, but none is of 8 ranks".
std::string gloo_calibration_of(const Job& job);

/// Logs of this cluster are of as many ranks and of buckets as large.
bool is_covered_by_gloo_logs(const Job& job);

/// As NCCL's.
Grade gloo_grade(const Job& job, bool step_reproduced);
std::string_view gloo_provenance(const Job& job, Grade grade);

}  // namespace ddpsim
