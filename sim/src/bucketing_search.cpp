#include "bucketing_search.hpp"

#include <algorithm>
#include <set>

namespace ddpsim {
namespace {

constexpr TorchVersion kFirstBucketTunable{1, 10};
constexpr TorchVersion kExplicitCapIsFirstCap{2, 5};

DdpOptions without_caps(const DdpOptions& options) {
  DdpOptions plain = options;
  plain.bucket_cap_mb.reset();
  plain.first_bucket_mb.reset();
  plain.bucket_cap_mb_list.clear();
  return plain;
}

/// Buckets of the steady step under raw limits, whatever could be passed to get them.
std::vector<Bucket> buckets_under(const Workload& workload, const DdpOptions& options,
                                  const std::vector<Bytes>& limits) {
  return bucket_limits(options).rebuilt_from ? rebuilt_buckets(workload, limits)
                                             : construction_buckets(workload, limits);
}

/// Smallest bucket closed by the limit at `from` or a later position; absent when none was.
std::optional<Bytes> smallest_closed(const std::vector<Bucket>& buckets, std::size_t from,
                                     std::size_t to) {
  std::optional<Bytes> smallest;
  for (const Bucket& bucket : buckets)
    if (bucket.closed_by == ClosedBy::limit && bucket.limit_index >= from &&
        bucket.limit_index <= to)
      smallest = smallest ? std::min(*smallest, bucket.bytes) : bucket.bytes;
  return smallest;
}

Bytes total_bytes(const std::vector<Bucket>& buckets) {
  Bytes total;
  for (const Bucket& bucket : buckets) total += bucket.bytes;
  return total;
}

constexpr std::size_t kAny = static_cast<std::size_t>(-1);

bool same_members(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Bucket& x, const Bucket& y) { return x.parameters == y.parameters; });
}

/// Walks one limit upwards from 0; `limits_for(value)` says where it stands among the limits, and
/// buckets closed under positions [from, to] decide how far the walk may jump. A bucket that holds
/// the last tensor has the same members whether it closed or was left over: such neighbours are
/// one.
template <typename LimitsFor, typename Visit>
void walk(const Workload& workload, const DdpOptions& options, std::size_t from, std::size_t to,
          LimitsFor limits_for, Visit visit) {
  Bytes low;
  std::vector<Bucket> buckets = buckets_under(workload, options, limits_for(low));
  std::optional<Bytes> high = smallest_closed(buckets, from, to);
  while (high) {
    std::vector<Bucket> next = buckets_under(workload, options, limits_for(*high + Bytes(1)));
    const std::optional<Bytes> next_high = smallest_closed(next, from, to);
    if (!same_members(buckets, next)) {
      visit(low, *high, std::move(buckets));
      low = *high + Bytes(1);
    }
    buckets = std::move(next);
    high = next_high;
  }
  const Bytes end = std::max(low, total_bytes(buckets));
  visit(low, end, std::move(buckets));
}

}  // namespace

double mib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / (1024.0 * 1024.0);
}

Bucketing default_bucketing(const Workload& workload, const DdpOptions& options) {
  const DdpOptions plain = without_caps(options);
  const BucketLimits limits = bucket_limits(plain);
  Bucketing result{.buckets = steady_buckets(workload, plain), .point = {}};
  result.point.first_bucket_mb = mib(limits.rebuild.front());
  result.point.buckets = result.buckets.size();
  result.point.cap_range_mb = {mib(limits.rebuild.back()), mib(limits.rebuild.back())};
  return result;
}

std::vector<Bucketing> enumerate_bucketings(const Workload& workload, const DdpOptions& options,
                                            const std::vector<double>& caps) {
  const DdpOptions plain = without_caps(options);
  const bool cap_holds_for_first = options.torch >= kExplicitCapIsFirstCap;
  const bool first_tunable = options.torch >= kFirstBucketTunable;
  const Bytes default_first = bucket_limits(plain).rebuild.front();
  const Bytes default_cap = bucket_limits(plain).rebuild.back();
  std::vector<Bucketing> found;
  const auto add = [&](std::optional<Bytes> cap, Bytes first, std::pair<Bytes, Bytes> range,
                       std::vector<Bucket> buckets, bool reachable) {
    Bucketing bucketing{.buckets = std::move(buckets), .point = {}};
    if (cap) bucketing.point.bucket_cap_mb = mib(*cap);
    bucketing.point.first_bucket_mb = mib(first);
    bucketing.point.cap_range_mb = {mib(range.first), mib(range.second)};
    bucketing.point.buckets = bucketing.buckets.size();
    bucketing.point.reachable = reachable;
    found.push_back(std::move(bucketing));
  };

  // The default's own limit where it gives this very first bucket, so that it is met by name.
  const auto name_of_first = [&](Bytes low, Bytes high) {
    return low <= default_first && default_first <= high ? default_first : high;
  };

  if (!caps.empty()) {
    for (const double cap : caps) {
      DdpOptions chosen = plain;
      chosen.bucket_cap_mb = cap;
      std::vector<Bytes> limits = bucket_limits(chosen).rebuild;
      bool reachable = true;
      if (options.first_bucket_mb) {
        DdpOptions first = plain;
        first.first_bucket_mb = options.first_bucket_mb;
        limits.front() = bucket_limits(first).rebuild.front();
        chosen.first_bucket_mb = options.first_bucket_mb;
        reachable = !unsupported(chosen);
      }
      add(limits.back(), limits.front(), {limits.back(), limits.back()},
          buckets_under(workload, plain, limits), reachable);
    }
    return found;
  }

  if (cap_holds_for_first) {
    // Two families: one cap for all buckets, or no cap passed and another first bucket before 25
    // MiB.
    std::set<std::vector<std::size_t>> seen;
    const auto unseen = [&](const std::vector<Bucket>& buckets) {
      std::vector<std::size_t> signature;
      for (const Bucket& bucket : buckets) {
        signature.insert(signature.end(), bucket.parameters.begin(), bucket.parameters.end());
        signature.push_back(kAny);
      }
      return seen.insert(std::move(signature)).second;
    };
    walk(
        workload, plain, 0, kAny,
        [](Bytes cap) {
          return std::vector<Bytes>{cap, cap};
        },
        [&](Bytes low, Bytes high, std::vector<Bucket> buckets) {
          if (unseen(buckets)) add(high, high, {low, high}, std::move(buckets), true);
        });
    walk(
        workload, plain, 0, 0,
        [&](Bytes first) {
          return std::vector<Bytes>{first, default_cap};
        },
        [&](Bytes low, Bytes high, std::vector<Bucket> buckets) {
          if (unseen(buckets))
            add(std::nullopt, name_of_first(low, high), {default_cap, default_cap},
                std::move(buckets), true);
        });
    return found;
  }

  // One cap for every bucket but the first, and a first bucket of its own: both walk where both can
  // be set. A first bucket is the same whatever the cap, so the walks nest.
  const auto caps_after = [&](Bytes first) {
    walk(
        workload, plain, 1, kAny,
        [&](Bytes cap) {
          return std::vector<Bytes>{first, cap};
        },
        [&](Bytes low, Bytes high, std::vector<Bucket> buckets) {
          add(high, first, {low, high}, std::move(buckets), true);
        });
  };
  if (!first_tunable || options.first_bucket_mb) {
    DdpOptions fixed = plain;
    fixed.first_bucket_mb = options.first_bucket_mb;
    caps_after(options.first_bucket_mb ? bucket_limits(fixed).rebuild.front() : default_first);
  } else {
    walk(
        workload, plain, 0, 0,
        [&](Bytes first) {
          return std::vector<Bytes>{first, default_cap};
        },
        [&](Bytes low, Bytes high, const std::vector<Bucket>&) {
          caps_after(name_of_first(low, high));
        });
  }
  return found;
}

}  // namespace ddpsim
