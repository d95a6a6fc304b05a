#include "local_sgd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "process_groups.hpp"
#include "step_collectives.hpp"

namespace ddpsim {
namespace {

/// torch.promote_types of floating-point types. Two types of the same size have a wider common
/// type.
Dtype promoted(Dtype a, Dtype b) {
  if (a == b) return a;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return element_size(a) == element_size(Dtype::float16) ? Dtype::float32 : Dtype::complex128;
}

constexpr std::string_view kNotFollowed =
    "ranks meet only at the averaging, so ddpsim cannot simulate ranks that differ. Leave out what "
    "makes them differ, such as --straggler";
constexpr std::size_t kMostLevels = 8;

/// The least common multiple, or the largest integer if it overflows.
std::int64_t common_period(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &product))
    return std::numeric_limits<std::int64_t>::max();
  return product;
}

/// Time of `what` when nothing overlaps it: the host sees that the device is done, then launches
/// it.
Duration exposed_time(const Job& job, Duration what) {
  const DdpCosts& costs = job.options().costs;
  return costs.event_latency + costs.host_launch + costs.launch_latency + what;
}

/// Time of a collective that nothing overlaps, until the ranks of `among` see its end.
Duration collective_time(const Job& job, const Job& among, CollectiveKind kind, Bytes bytes) {
  const CollectivePlan planned = plan(among, kind, bytes, kUnrecorded);
  return planned.to_host + planned.transfer + planned.to_device + job.options().costs.event_latency;
}

ModelAveraging averaging_among(const Job& job, const Job& among, const KernelCosts& kernels,
                               int period) {
  const FlatParameters flat = flat_parameters(job.workload());
  const Duration gpu = kernels.cast(flat.moved, flat.bytes) + kernels.copy(flat.bytes) +
                       kernels.kernels(flat.others, 3 * flat.of_others);
  const Duration all_reduce = collective_time(job, among, CollectiveKind::all_reduce, flat.bytes);
  return {.period = period,
          .bytes = flat.bytes,
          .whole = gpu + exposed_time(job, all_reduce),
          .share = 1.0 / period,
          .what = ""};
}

ModelAveraging in_one(std::vector<ModelAveraging> all) {
  ModelAveraging first = std::move(all.front());
  first.further.assign(std::make_move_iterator(all.begin() + 1),
                       std::make_move_iterator(all.end()));
  return first;
}

ModelAveraging averaging_of(const Job& job, const KernelCosts& kernels,
                            const PeriodicAveraging& scheme) {
  const int ranks = job.cluster().ranks();
  std::vector<AveragingLevel> levels = scheme.hierarchy;
  if (levels.empty()) levels = {{.period = scheme.period, .ranks = ranks}};
  std::vector<ModelAveraging> all;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const AveragingLevel& level = levels[k];
    ModelAveraging one = averaging_among(job, group_of(job, level.ranks), kernels, level.period);
    one.share = share_of_steps(level.period, std::span(levels).subspan(k + 1));
    one.what = fmt::format("{} ranks average", level.ranks);
    all.push_back(std::move(one));
  }
  return in_one(std::move(all));
}

/// Time to flatten tensors and copy them back, as SlowMo's communicate() does with gradients or
/// parameters.
Duration flattened(const KernelCosts& kernels, Bytes bytes) {
  return kernels.copy(bytes) + kernels.copy(bytes);
}

ModelAveraging between_nodes(const Job& job, const KernelCosts& kernels, const SlowMo& scheme) {
  const Cluster& cluster = job.cluster();
  const FlatParameters flat = flat_parameters(job.workload());
  const auto tensors = static_cast<std::int64_t>(job.workload().backward->ready.size());
  Duration sent =
      collective_time(job, job.within(cluster.nodes, 1), CollectiveKind::all_reduce, flat.bytes);
  if (cluster.gpus_per_node > 1)
    sent += exposed_time(
        job, flattened(kernels, flat.bytes) +
                 collective_time(job, job.within(1), CollectiveKind::broadcast, flat.bytes));
  ModelAveraging between{.period = scheme.localsgd_frequency,
                         .bytes = flat.bytes,
                         .whole = kernels.kernels(tensors, 2 * flat.bytes) +
                                  flattened(kernels, flat.bytes) + exposed_time(job, sent),
                         .share = 1.0 / scheme.localsgd_frequency,
                         .what = fmt::format("{} nodes average", cluster.nodes)};
  const AveragingLevel slow{.period = scheme.slowmo_frequency, .ranks = 0};
  if (scheme.slowmo_memory_efficient)
    between.share = share_of_steps(scheme.localsgd_frequency, {&slow, 1});
  return between;
}

ModelAveraging slow_momentum(const Job& job, const KernelCosts& kernels, const SlowMo& scheme) {
  const FlatParameters flat = flat_parameters(job.workload());
  constexpr int kPasses = 6;  // parameters, old parameters, momentum: each read and written
  ModelAveraging momentum{.period = scheme.slowmo_frequency,
                          .bytes = flat.bytes,
                          .whole = kernels.kernels(3, kPasses * flat.bytes),
                          .share = 1.0 / scheme.slowmo_frequency,
                          .what = "slow momentum steps"};
  if (!scheme.slowmo_memory_efficient) return momentum;
  const int shards = std::min(scheme.slowmo_num_shards, job.cluster().ranks());
  const Bytes shard((flat.bytes.count() + shards - 1) / shards);
  const auto tensors = static_cast<std::int64_t>(job.workload().backward->ready.size());
  Duration of_a_shard;
  for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::broadcast})
    of_a_shard +=
        flattened(kernels, shard) + exposed_time(job, collective_time(job, job, kind, shard));
  momentum.whole = kernels.kernels(tensors, 2 * flat.bytes) + of_a_shard * shards +
                   kernels.kernels(3, kPasses * shard);
  return momentum;
}

ModelAveraging averaging_of(const Job& job, const KernelCosts& kernels, const SlowMo& scheme) {
  std::vector<ModelAveraging> all;
  if (job.cluster().nodes > 1) all.push_back(between_nodes(job, kernels, scheme));
  all.push_back(slow_momentum(job, kernels, scheme));
  return in_one(std::move(all));
}

/// Says why HierarchicalModelAverager or dist.new_subgroups would refuse the levels, or ddpsim
/// does.
std::optional<std::string> cannot_layer(const Job& job, const PeriodicAveraging& scheme) {
  const std::vector<AveragingLevel>& levels = scheme.hierarchy;
  if (levels.empty()) return std::nullopt;
  const int all = job.cluster().ranks();
  if (levels.size() > kMostLevels)
    return fmt::format("--scheme local_sgd: hierarchy has {} levels: at most {} are simulated",
                       levels.size(), kMostLevels);
  for (std::size_t k = 1; k < levels.size(); ++k)
    if (levels[k].period <= levels[k - 1].period || levels[k].ranks <= levels[k - 1].ranks)
      return "--scheme local_sgd: hierarchy: periods and group sizes must both increase, as in "
             "2:4+4:8+8:16";
  if (levels.back().ranks != all)
    return fmt::format(
        "--scheme local_sgd: hierarchy: the last group must have all {} ranks, not {} "
        "(HierarchicalModelAverager)",
        all, levels.back().ranks);
  return std::nullopt;
}

}  // namespace

FlatParameters flat_parameters(const Workload& workload) {
  FlatParameters flat;
  const std::vector<ReadyEvent>& written = workload.backward->ready;
  if (written.empty()) return flat;
  const auto dtype_of = [&](const ReadyEvent& event) {
    return workload.parameters[event.parameter].dtype;
  };
  Dtype common = dtype_of(written.front());
  for (const ReadyEvent& event : written) common = promoted(common, dtype_of(event));
  for (const ReadyEvent& event : written) {
    const Bytes bytes = gradient_bytes(workload.parameters[event.parameter]).value_or(Bytes());
    flat.moved += bytes;
    flat.bytes += Bytes(bytes.count() / element_size(dtype_of(event)) * element_size(common));
    if (dtype_of(event) == common) continue;
    flat.of_others += bytes;
    flat.largest_other = std::max(flat.largest_other, bytes);
    ++flat.others;
  }
  return flat;
}

double share_of_steps(std::int64_t period, std::span<const AveragingLevel> higher) {
  if (higher.empty()) return 1.0 / static_cast<double>(period);
  const std::span<const AveragingLevel> above = higher.subspan(1);
  const std::int64_t both = common_period(period, higher.front().period);
  return share_of_steps(period, above) - share_of_steps(both, above);
}

std::optional<ModelAveraging> model_averaging(const Job& job, const KernelCosts& kernels) {
  const SimulationOptions& options = job.options();
  if (const auto* periodic = std::get_if<PeriodicAveraging>(&options.scheme))
    return averaging_of(job, kernels, *periodic);
  if (const auto* slowmo = std::get_if<SlowMo>(&options.scheme))
    return averaging_of(job, kernels, *slowmo);
  if (options.ddp().comm_hook != CommHook::post_local_sgd) return std::nullopt;
  return averaging_among(job, job, kernels, options.ddp().local_sgd.period);
}

std::optional<std::string> cannot_average(const Job& job) {
  const SimulationOptions& options = job.options();
  const bool differ = !options.variation.empty() || !job.workload().ranks.empty();
  if (const auto* periodic = std::get_if<PeriodicAveraging>(&options.scheme)) {
    if (auto problem = cannot_layer(job, *periodic)) return problem;
    if (differ) return "--scheme local_sgd: " + std::string(kNotFollowed);
  }
  const bool apart = job.cluster().nodes > 1 && job.cluster().gpus_per_node == 1;
  if (std::holds_alternative<SlowMo>(options.scheme) && apart && differ)
    return "--scheme slowmo: " + std::string(kNotFollowed);
  const bool slowmo = std::holds_alternative<SlowMo>(options.scheme);
  const bool within_nodes = slowmo || options.ddp().comm_hook == CommHook::post_local_sgd;
  if (within_nodes && job.cluster().hosts_per_node > 1)
    return fmt::format(
        "{} reduces within nodes first, which is not simulated if nodes share an "
        "NVLink domain. Leave out the domain, or choose another scheme",
        slowmo ? "--scheme slowmo" : "post_localSGD_hook");
  if (options.ddp().comm_hook != CommHook::post_local_sgd) return std::nullopt;
  if (std::holds_alternative<FlowModel>(job.model()))
    return "post_localSGD_hook reduces within nodes, but the flow network simulates only "
           "collectives of all ranks. Leave out --network flow";
  if (!job.has_group(1))
    return "post_localSGD_hook reduces within nodes, but the cluster's nodes differ: ddpsim does "
           "not know how long an all-reduce within one takes";
  if (!options.ddp().local_sgd.averages_gradients && differ)
    return "without all-reduces of gradients, ranks meet only at the averaging, so ddpsim cannot "
           "simulate ranks that differ. Leave out --local-sgd-gradients none, or what makes them "
           "differ";
  return std::nullopt;
}

BucketHook local_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket) {
  BucketHook hook{.stages = {{}}};
  if (!job.options().ddp().local_sgd.averages_gradients) return hook;
  hook.stages.front().bytes = bucket.bytes;
  hook.before.kernels.push_back(kernels.copy(bucket.bytes));
  return hook;
}

}  // namespace ddpsim
