#include "rates.hpp"

#include <algorithm>

namespace ddpsim {

Rates rates_of(const Job& job) {
  const Interference& interference = job.options().interference;
  // Hosts do the sending to parameter servers.
  const bool by_hosts = facts_of(job.options().scheme).by_servers;
  const double usual = is_timed_beside_compute(job) || by_hosts ? 1 : kNcclBesideCompute;
  return {.compute_loss_per_channel = interference.sm_share / std::max(1, job.cluster().gpu.sms),
          .compute_loss_per_load = interference.memory_share,
          .communication = interference.communication_rate.value_or(usual)};
}

}  // namespace ddpsim
