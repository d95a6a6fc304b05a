

#include "epoch_of.hpp"
#include "data_feed.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

namespace ddpsim {

std::optional<Epoch> epoch_of(const Job& job, Duration step, std::optional<Duration> host_step,
                              const std::optional<DataSupply>& data) {
  const auto& set = job.options().data_set;
  const auto& batch_size = job.workload().batch_per_gpu;
  if (!set || !batch_size) return std::nullopt;
  const int accumulate = job.options().accumulate;
  Epoch epoch{.set = *set,
              .sampled = deal_out(*set, job.cluster().ranks()),
              .batch = *batch_size,
              .batched = {},
              .step = step,
              .tail_step = {},
              .warm_up = {},
              .time = {}};
  epoch.batched = in_batches(*set, epoch.sampled.per_rank, *batch_size);
  const std::int64_t whole = epoch.batched.full / accumulate;
  const std::int64_t left = epoch.batched.full % accumulate;
  if (data) epoch.warm_up = wait_of_epoch(job, *data, whole, host_step);
  epoch.time = epoch.warm_up + epoch.step * whole + (epoch.step * left).scaled(1.0 / accumulate);
  epoch.steps = whole + (left > 0 || epoch.batched.tail > 0 ? 1 : 0);
  if (epoch.batched.tail == 0) return epoch;

  const double share = static_cast<double>(epoch.batched.tail) / static_cast<double>(*batch_size);
  SimulationOptions options = job.options();
  options.compute_scale /= share;
  options.iterations = 0;
  options.variation.jitter = 0;
  options.variation.stagger = Duration();
  if (auto& loader = options.data_loader) {
    if (loader->batch) loader->batch = loader->batch->scaled(share);
    if (loader->sample) loader->sample = loader->sample->scaled(share);
    loader->sample_bytes =
        Bytes(static_cast<std::int64_t>(static_cast<double>(loader->sample_bytes.count()) * share));
    loader->batch_bytes =
        Bytes(static_cast<std::int64_t>(static_cast<double>(loader->batch_bytes.count()) * share));
  }
  epoch.tail_step = simulate_times(job.with(std::move(options))).iteration;
  epoch.time += epoch.tail_step->scaled(1.0 / accumulate);
  return epoch;
}

}  // namespace ddpsim
