#include "ddpsim/sim/attribution/step_counters.hpp"

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/link_loads.hpp"

namespace ddpsim {
namespace {

/// Adds up values that each hold from one time to another.
class Sum {
 public:
  void add(TimePoint from, TimePoint to, std::int64_t value) {
    if (to <= from || value == 0) return;
    changes_.push_back({from, value});
    changes_.push_back({to, -value});
  }

  CounterLevels levels() && {
    std::ranges::stable_sort(changes_, {}, &CounterLevel::from);
    CounterLevels levels;
    std::int64_t reached = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      reached += changes_[i].value;
      if (i + 1 < changes_.size() && changes_[i + 1].from == changes_[i].from) continue;
      if (levels.empty() || levels.back().value != reached)
        levels.push_back({changes_[i].from, reached});
    }
    return levels;
  }

 private:
  CounterLevels changes_;
};

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

/// Bytes a hop sends over all channels. A ring's hop passes each part of the tensor on twice, a
/// tree's passes all of it.
double hop_bytes(Algorithm algorithm, double bus_bytes, double bytes) {
  return algorithm == Algorithm::ring ? bus_bytes : bytes;
}

const LinkLoad* load_of(const BucketResult& bucket, const Cluster& cluster) {
  if (!bucket.choice || cluster.loads == nullptr) return nullptr;
  const auto shape = channel_shape(bucket.choice->algorithm, cluster.nodes);
  return shape ? &cluster.loads->of(*shape, bucket.choice->channels) : nullptr;
}

}  // namespace

StepCounters step_counters(const std::vector<BucketResult>& buckets, const Job& job) {
  const Cluster& cluster = job.cluster();
  const double share =
      static_cast<double>(ring_steps(CollectiveKind::all_reduce, cluster.ranks())) /
      cluster.ranks();
  Sum waiting;
  Sum in_flight;
  Sum bus_bandwidth;
  std::array<Sum, kLinkKinds> loads;
  for (const BucketResult& bucket : buckets) {
    waiting.add(bucket.ready, bucket.start, 1);
    if (bucket.end <= bucket.last_arrival) continue;
    const auto bytes = static_cast<double>(bucket.bytes.count());
    const double seconds = (bucket.end - bucket.last_arrival).seconds();
    const auto transfer = [&](Sum& sum, double value) {
      sum.add(bucket.last_arrival, bucket.end, whole(value));
    };
    in_flight.add(bucket.last_arrival, bucket.end, bucket.bytes.count());
    transfer(bus_bandwidth, share * bytes / seconds);
    const LinkLoad* load = load_of(bucket, cluster);
    if (load == nullptr) continue;
    const double rate = hop_bytes(bucket.choice->algorithm, share * bytes, bytes) / seconds;
    for (std::size_t kind = 0; kind < kLinkKinds; ++kind)
      transfer(loads[kind], 1000 * rate * std::max(load->local[kind], load->network[kind]));
  }
  StepCounters counters{.buckets_waiting = std::move(waiting).levels(),
                        .bytes_in_flight = std::move(in_flight).levels(),
                        .bus_bandwidth = std::move(bus_bandwidth).levels(),
                        .link_load = {}};
  for (std::size_t kind = 0; kind < kLinkKinds; ++kind)
    counters.link_load[kind] = std::move(loads[kind]).levels();
  return counters;
}

}  // namespace ddpsim
