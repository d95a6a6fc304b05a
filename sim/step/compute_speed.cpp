#include "ddpsim/sim/step/compute_speed.hpp"

namespace ddpsim {

SlowdownShares slowdown_shares(const Job& job) {
  return shares_beyond_recording(job.options().rank_slowdown, job.workload(), job.cluster(),
                                 job.options().accumulate);
}

double compute_speed(const Job& job) {
  return job.options().compute_scale / slowdown_shares(job).slowdown();
}

}  // namespace ddpsim
