#include "ddpsim/sim/step/compute_speed.hpp"

namespace ddpsim {

double compute_speed(const Job& job) {
  return job.options().compute_scale / shares_beyond_recording(job.options().rank_slowdown,
                                                               job.workload(), job.cluster(),
                                                               job.options().ddp.accumulate)
                                           .slowdown();
}

}  // namespace ddpsim
