// What a collective of ProcessGroupGloo takes.
//
//   all-reduce, segmented ring: s segments of b bytes, q = s/n of them each rank's own
//     s = max(ceil(S / 1 MiB), 2n), rounded up to a multiple of n
//     2 (s - q) steps, in each of which every rank sends one segment and receives one
//     T = start + 2 (s - q) * (step^h + (b / rate)^h)^(1/h)
//   reduce-scatter: ProcessGroupGloo has none; callers all-reduce everything and keep a part
//     (PyTorch's functional collectives do)
//   reduce: the first half of an all-reduce, s - q steps; then the root takes all others' parts,
//     (n - 1)/n S, at once
//   all-gather, ring: 2(n - 1) steps of S/2n, two of them under way
//   broadcast, binomial tree: ceil(log2 n) rounds of S
//   send-recv: one step of S
//   rate = the least of a process, of its share of the host, of the NIC (every ring that passes from
//     one host to the next sends 2(n - 1)/n S through it); the former two divided by
//     1 + (cost - 1) * miss
//   miss = the part of 2 g S, buffers and socket copies of a host's g processes, that its cache
//     cannot hold
//   volume = 2 (n - 1)/n S / rate: what cannot hide behind another collective
//
// n ranks, S bytes. Two segments are under way at a time, so a step's latency hides behind the bytes
// of the other: h = 1.5, between the sum (1) and the larger (infinity), as a loopback between 1 KiB
// and 4 MiB suggests. Assumes ranks in order of nodes, ranks in lockstep, and that the reduction
// (some GB/s) never binds before the socket. Source: gloo/allreduce.cc, reduce.cc, allgather.cc,
// broadcast.cc; all-reduces checked against the DDP paper, no log shows the others. Stops being true
// where processes outnumber cores.
#include "gloo_cost.hpp"

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

constexpr double kLargestSegment = 1'048'576;
/// Passing a byte through memory over passing it through the cache; GlooLinks::cache has what is known.
constexpr double kMemoryCost = 2;
/// How a step's latency hides behind the bytes of the segment beside it.
constexpr double kHides = 1.5;

/// Share of the traffic that comes from memory.
double miss(const GlooModel& model, const Cluster& cluster, double bytes) {
  const double touched = 2 * bytes * std::max(1, cluster.gpus_per_host());
  const double cache = static_cast<double>(model.links.cache.count());
  return touched > cache ? 1 - cache / touched : 0;
}

/// Of so many collectives together.
double bytes_per_second(const GlooModel& model, const Cluster& cluster, double bytes,
                        double collectives = 1) {
  double rate =
      std::min(model.links.process.bytes_per_second() * collectives,
               model.links.host.bytes_per_second() / std::max(1, cluster.gpus_per_host()));
  rate /= 1 + (kMemoryCost - 1) * miss(model, cluster, bytes);
  if (cluster.hosts() > 1)
    rate = std::min(
        rate,
        kFramePayload * std::min(cluster.network.per_nic, trunk_rate(cluster)).bytes_per_second());
  return rate;
}

struct GlooTime {
  double total_us;
  double volume_us;  ///< bytes alone
};

/// So many steps of `bytes`, two of them under way.
double steps_us(double steps, double step, double bytes, double rate) {
  return steps *
         elementary::pow(elementary::pow(step, kHides) + elementary::pow(bytes / rate, kHides),
                         1 / kHides);
}

/// `rate` in bytes per microsecond; what it takes beside its start.
GlooTime gloo_time(CollectiveKind kind, double n, double bytes, double rate, double step) {
  const double least = std::max(std::ceil(bytes / kLargestSegment), 2 * n);
  const double segments = std::ceil(least / n) * n;
  const double phase = segments - segments / n;
  const double passing = (n - 1) / n * bytes / rate;
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
      break;
    case CollectiveKind::broadcast: {
      const double rounds = std::ceil(elementary::log2(n));
      return {rounds * (step + bytes / rate), rounds * bytes / rate};
    }
    case CollectiveKind::all_gather:
      return {steps_us(2 * (n - 1), step, bytes / (2 * n), rate), passing};
    case CollectiveKind::reduce:
      return {steps_us(phase, step, bytes / segments, rate) + step + passing, 2 * passing};
    case CollectiveKind::send_recv:
      return {step + bytes / rate, bytes / rate};
  }
  return {steps_us(2 * phase, step, bytes / segments, rate), 2 * (n - 1) / n * bytes / rate};
}

/// Of a step that passes the network.
double step_us(const GlooModel& model, const Cluster& cluster) {
  double step = model.links.step.microseconds();
  if (cluster.hosts() > 1 && cluster.network.latency)
    step += cluster.network.latency->microseconds();
  return step;
}

}  // namespace

double gloo_collectives_to_fill(const GlooModel& model, const Cluster& cluster) {
  return bytes_per_second(model, cluster, 0, std::max(1.0, model.links.to_fill)) /
         bytes_per_second(model, cluster, 0);
}

Bandwidth gloo_link(const GlooModel& model, const Cluster& cluster) {
  return Bandwidth::bytes_per_second(bytes_per_second(model, cluster, 0));
}

Duration gloo_message(const GlooModel& model, const Cluster& cluster) {
  return Duration::microseconds(step_us(model, cluster));
}

CollectivePlan gloo_plan(const GlooModel& model, const Cluster& cluster, CollectiveKind kind,
                         Bytes size) {
  CollectivePlan plan;
  const double n = cluster.ranks();
  const double bytes = static_cast<double>(std::max<std::int64_t>(0, size.count()));
  if (!model.links.host_tensors) plan.to_host = plan.to_device = size / model.links.copy;
  if (n <= 1) return plan;

  const double rate = bytes_per_second(model, cluster, bytes) / 1e6;  // bytes per us
  const double step = step_us(model, cluster);
  const GlooTime time = gloo_time(kind, n, bytes, rate, step);
  plan.volume = Duration::microseconds(time.volume_us);
  plan.transfer = model.factors.apply(
      Duration::microseconds(model.links.start.microseconds() + time.total_us), plan.volume);
  plan.volume = plan.volume.scaled(model.factors.bandwidth);
  return plan;
}

}  // namespace ddpsim
