// Turns every source of error of a job into two jobs, with that source at one of its bounds and at
// the other.
#include <algorithm>
#include <utility>
#include <variant>

#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "gloo_evidence.hpp"
#include "host_ahead.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// Bounds of the share of SMs and memory traffic that NCCL takes: half as much, or twice as much.
/// Kernels measured while NCCL ran lost 0.7 to 2.9 times what simulation_options.hpp takes from
/// them, so a narrower range would be wrong. NCCL itself slows to 0.6 of its rate, or not at all.
constexpr double kLittleInterference = 0.5;
constexpr double kStrongInterference = 2;
constexpr double kSlowestBesideCompute = 0.6;
/// Bounds of DDP's copy kernels and host costs.
constexpr double kCostsLow = 0.7;
constexpr double kCostsHigh = 1.5;
/// Bounds of copies on the host: 16.2 and 5.6 GB/s were measured, where GlooLinks::copy has 11.
constexpr double kHostCopiesLow = 0.7;
constexpr double kHostCopiesHigh = 2;

/// gloo's band applies to whole times, so its parts err together.
std::vector<Scenario> collective_scenarios(const Job& job) {
  if (std::holds_alternative<GlooModel>(job.model())) {
    const Band gloo = gloo_band(job);
    return {{ErrorSource::collective_times, with_collectives(job, gloo.faster, gloo.faster),
             with_collectives(job, gloo.slower, gloo.slower)}};
  }
  const Band fixed = fixed_cost_band(job);
  // Most bytes of a step travel in its largest buckets.
  const std::vector<Bytes> sizes = all_reduce_sizes(job);
  const Band bytes =
      bandwidth_band(job, sizes.empty() ? Bytes() : *std::max_element(sizes.begin(), sizes.end()));
  return {{ErrorSource::fixed_cost, with_collectives(job, fixed.faster, 1),
           with_collectives(job, fixed.slower, 1)},
          {ErrorSource::bandwidth, with_collectives(job, 1, bytes.faster),
           with_collectives(job, 1, bytes.slower)}};
}

/// Total time of the shortest recorded all-reduces of all buckets over the predicted time, if they
/// come from the same machine. 1 if they were not longer. One rank cannot tell whether they waited
/// or are this slow.
double recorded_over_predicted(const Job& job) {
  const Workload& workload = job.workload();
  const bool nccl = nccl_of(job.model()) != nullptr && workload.recorded_with.nccl_kernels > 0;
  if (!nccl || !is_recorded_on(workload, job.cluster())) return 1;
  Duration recorded;
  Duration predicted;
  std::size_t index = 0;
  for (const RecordedAllReduce& bucket : recorded_all_reduces(workload).buckets) {
    recorded += bucket.times.front();
    predicted += plan(job, CollectiveKind::all_reduce, bucket.bytes, index++).transfer;
  }
  return predicted > Duration() ? std::max(1.0, recorded / predicted) : 1;
}

SimulationOptions with_interference(SimulationOptions options, double factor,
                                    double nccl_beside_compute) {
  options.interference.sm_share *= factor;
  options.interference.memory_share *= factor;
  if (!options.interference.communication_rate)
    options.interference.communication_rate = nccl_beside_compute;
  return options;
}

SimulationOptions with_compute(SimulationOptions options, double scale) {
  options.compute_scale = scale;
  return options;
}

SimulationOptions with_host_rate(SimulationOptions options, double factor) {
  CpuOffload* offload = offload_of(options.scheme);
  offload->cpu_rate = offload->cpu_rate * factor;
  return options;
}

SimulationOptions with_gpu_spread(SimulationOptions options, double spread) {
  options.rank_slowdown.gpu_spread = spread;
  return options;
}

SimulationOptions with_unexplained(SimulationOptions options, RankSlowdown terms) {
  terms.gpu_spread = options.rank_slowdown.gpu_spread;
  options.rank_slowdown = terms;
  return options;
}

SimulationOptions with_launch_cost(SimulationOptions options, double factor) {
  options.costs.host_kernel = options.costs.host_kernel.scaled(factor);
  options.launch_cost_known = true;
  return options;
}

/// The recorded launch cost includes the profiler's share, which no recording tells. Without the
/// profiler a launch takes at least the smallest known cost. If the GPU mostly waited for launches,
/// host_delays covers this.
void add_launch_cost(const Job& job, std::vector<Scenario>& all) {
  const auto& launches = job.workload().launches;
  const SimulationOptions& options = job.options();
  if (!launches || options.launch_cost_known) return;
  const auto at = [&](double factor) { return job.with(with_launch_cost(options, factor)); };
  const auto& [least, most] = kHostKernelRange;
  if (!launches->cost)
    all.push_back({ErrorSource::launch_cost, at(least), at(most)});
  else if (!launch_bound(job.workload()))
    all.push_back({ErrorSource::launch_cost, at(least), job});
}

Job with_costs(const Job& job, double factor, double of_host) {
  CollectiveModel model = job.model();
  GlooModel* gloo = std::get_if<GlooModel>(&model);
  const bool host = gloo != nullptr && gloo->links.host_tensors;
  if (host)
    for (Bandwidth* rate : {&gloo->links.copy, &gloo->links.fresh}) *rate = *rate * (1 / of_host);
  SimulationOptions options = job.options();
  DdpCosts& costs = options.costs;
  costs.copy_bandwidth_share = std::min(1.0, costs.copy_bandwidth_share / factor);
  for (Duration* cost :
       {&costs.copy_kernel, &costs.kernel_gap, &costs.host_copy, &costs.host_hook,
        &costs.host_launch, &costs.host_comm_hook, &costs.host_hook_kernel, &costs.qr,
        &costs.qr_column, &costs.host_step, &costs.host_step_kernel, &costs.launch_latency,
        &costs.event_latency, &costs.host_search_per_parameter, &costs.host_unit_hook})
    *cost = cost->scaled(factor);
  costs.zero.for_each([&](Duration& cost) { cost = cost.scaled(factor); });
  state(costs, options.stated_costs);
  const Job other = job.with(std::move(options));
  return host ? other.with(std::move(model)) : other;
}

}  // namespace

Job with_collectives(const Job& job, double fixed, double bandwidth) {
  CollectiveModel model = job.model();
  if (CostFactors* factors = cost_factors_of(model)) {
    factors->fixed *= fixed;
    factors->bandwidth *= bandwidth;
  }
  return job.with(std::move(model));
}

std::vector<Scenario> scenarios(const Job& job) {
  const SimulationOptions& options = job.options();
  std::vector<Scenario> all = collective_scenarios(job);
  const auto add = [&](ErrorSource source, SimulationOptions one, SimulationOptions other) {
    all.push_back({source, job.with(std::move(one)), job.with(std::move(other))});
  };
  const bool alone_timed = !is_timed_beside_compute(job);
  add(ErrorSource::interference, with_interference(options, kLittleInterference, 1),
      with_interference(options, kStrongInterference, alone_timed ? kSlowestBesideCompute : 1));
  all.push_back({ErrorSource::ddp_costs, with_costs(job, kCostsLow, kHostCopiesLow),
                 with_costs(job, kCostsHigh, kHostCopiesHigh)});
  if (options.rank_slowdown_range) {
    const auto& [least, most] = *options.rank_slowdown_range;
    if (least.gpu_spread != most.gpu_spread)
      add(ErrorSource::gpu_spread, with_gpu_spread(options, least.gpu_spread),
          with_gpu_spread(options, most.gpu_spread));
    add(ErrorSource::rank_slowdown, with_unexplained(options, least),
        with_unexplained(options, most));
  }
  add_launch_cost(job, all);
  if (const CpuOffload* offload = offload_of(options.scheme);
      offload && offload->optimizer && offload->cpu_rate_assumed)
    add(ErrorSource::host_work, with_host_rate(options, kHostRateMost),
        with_host_rate(options, kHostRateLeast));
  if (options.compute_scale_range) {
    const auto [slowest, fastest] = *options.compute_scale_range;
    add(ErrorSource::compute_scale, with_compute(options, fastest), with_compute(options, slowest));
  }
  // Only the flow network models other traffic, and its links are those of this cluster.
  const auto* flow = std::get_if<FlowModel>(&job.model());
  const bool alone = flow == nullptr || flow->background->empty();
  if (const auto& loads = job.cluster().loads_under_one_leaf; loads != nullptr && alone)
    all.push_back({ErrorSource::leaf_placement, job.with(loads), job});
  if (const auto& loads = job.cluster().loads_scattered; loads != nullptr && alone)
    all.push_back({ErrorSource::leaf_placement, job, job.with(loads)});
  if (const double longer = recorded_over_predicted(job); longer > 1)
    all.push_back({ErrorSource::recorded_waits, job, with_collectives(job, longer, longer)});
  if (launch_bound(job.workload()))
    all.push_back({ErrorSource::host_delays, job.with(host_ahead(job.workload())), job});
  return all;
}

std::vector<Bounds> simulate_scenarios(const Job& job, int threads) {
  // No source of error moves a gradient to another bucket.
  SimulationOptions options = job.options();
  options.buckets = buckets_of(job);
  const std::vector<Scenario> all = scenarios(job.with(std::move(options)));
  std::vector<Bounds> bounds(all.size());
  for_each_index(2 * all.size(), threads, 1, [&](std::size_t k) {
    const Scenario& scenario = all[k / 2];
    Bounds& found = bounds[k / 2];
    if (k % 2 == 0) {
      found.source = scenario.source;
      found.at_one = simulate_times(scenario.at_one);
    } else {
      found.at_other = simulate_times(scenario.at_other);
    }
  });
  return bounds;
}

}  // namespace ddpsim
