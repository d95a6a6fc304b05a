// How long a collective of ProcessGroupGloo takes.
//
// Symbols: n ranks, S bytes, g processes on a host.
//
// All-reduce, a segmented ring of s segments of b bytes. Each rank owns q = s/n of them:
// - s = max(ceil(S / 1 MiB), 2n), rounded up to a multiple of n
// - 2 (s - q) steps; in each, every rank sends one segment and receives one
// - T = start + 2 (s - q) * (step^h + (b / rate)^h)^(1/h)
//
// Reduce-scatter: ProcessGroupGloo has none. Callers all-reduce everything and keep a part, as
// PyTorch's functional collectives do.
//
// Reduce: the first half of an all-reduce, s - q steps. Then the root receives all other ranks'
// parts, (n - 1)/n S, at once.
//
// All-gather, a ring: 2(n - 1) steps of S/2n, two of them in flight.
//
// Broadcast, a binomial tree: ceil(log2 n) rounds of S. Send-recv: one step of S.
//
// The rate is the lowest of three: a process, its share of the host, and the NIC. Every ring that
// passes from one host to the next sends 2(n - 1)/n S through the NIC. The first two are divided by
// 1 + (cost - 1) * miss.
//
// miss is the part of 2 g S, buffers and socket copies of a host's g processes, that its cache
// cannot hold.
//
// volume = 2 (n - 1)/n S / rate is the time that cannot hide behind another collective.
//
// Two segments are in flight at a time, so a step's latency hides behind the bytes of the other.
// The exponent h = 1.5 is between the sum (1) and the larger of the two (infinity). Measurements
// over loopback between 1 KiB and 4 MiB suggest it.
//
// Assumptions: ranks in the order of nodes and in lockstep; the reduction (some GB/s) is never
// slower than the socket. Source: gloo/allreduce.cc, reduce.cc, allgather.cc, broadcast.cc.
// All-reduces were checked against the DDP paper; no log shows the others. The model does not hold
// if there are more processes than cores.
#include "gloo_cost.hpp"

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

constexpr double kLargestSegment = 1'048'576;
/// Time to pass a byte through memory, relative to the cache. GlooLinks::cache says what is known
/// about it.
constexpr double kMemoryCost = 2;
/// How a step's latency hides behind the bytes of the other segment in flight.
constexpr double kHides = 1.5;

/// Share of the traffic that comes from memory.
double miss(const GlooModel& model, const Cluster& cluster, double bytes) {
  const double touched = 2 * bytes * std::max(1, cluster.gpus_per_host());
  const double cache = static_cast<double>(model.links.cache.count());
  return touched > cache ? 1 - cache / touched : 0;
}

/// Rate of so many collectives together.
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

/// Microseconds of so many steps of `bytes`, two of them in flight.
double steps_us(double steps, double step, double bytes, double rate) {
  return steps *
         elementary::pow(elementary::pow(step, kHides) + elementary::pow(bytes / rate, kHides),
                         1 / kHides);
}

/// Time without the start. `rate` is in bytes per microsecond.
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

/// Latency of a step that goes over the network.
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
