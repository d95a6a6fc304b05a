#include "bucketing_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ddpsim/sim/collectives/job.hpp"
#include "gradient_runs.hpp"

namespace ddpsim {
namespace {

DdpOptions without_caps(const DdpOptions& options) {
  DdpOptions plain = options;
  plain.bucket_cap_mb.reset();
  plain.first_bucket_mb.reset();
  plain.bucket_cap_mb_list.clear();
  return plain;
}

/// Values of one limit, both ends included, that give the same bucketing.
struct LimitRange {
  Bytes low;
  Bytes high;  ///< Bytes::max(): any value from `low` up
  std::size_t buckets;
  /// The value to name the range by: the largest of a bounded range, the smallest of an open one.
  Bytes name() const { return high == Bytes::max() ? low : high; }
};

/// Walks one limit upwards from 0. `limits_for(value)` builds the limits with the walked one at
/// `value`. The buckets that the watched limits closed decide how far the walk may jump. The bucket
/// with the last tensor has the same members whether it closed or was left over, so such
/// neighbouring ranges are merged.
template <typename LimitsFor>
std::vector<LimitRange> walk(const GradientRuns& runs, Watched watched, LimitsFor limits_for) {
  const auto cut_at = [&](Bytes value) { return runs.cut(limits_for(value), watched); };
  std::vector<LimitRange> ranges;
  Bytes low;
  Cut cut = cut_at(low);
  std::optional<Bytes> high = cut.smallest_closed;
  while (high) {
    Cut next = cut_at(*high + Bytes(1));
    const std::optional<Bytes> next_high = next.smallest_closed;
    if (!cut.same_buckets(next)) {
      ranges.push_back({low, *high, runs.buckets(cut)});
      low = *high + Bytes(1);
    }
    cut = std::move(next);
    high = next_high;
  }
  ranges.push_back({low, Bytes::max(), runs.buckets(cut)});
  return ranges;
}

/// Searches what one version lets a user set.
class Search {
 public:
  Search(const Workload& workload, const DdpOptions& options, TorchVersion torch)
      : options_(options),
        torch_(torch),
        plain_(without_caps(options)),
        runs_(workload, options, torch),
        default_first_(bucket_limits(plain_, torch_).rebuild.front()),
        default_cap_(bucket_limits(plain_, torch_).rebuild.back()) {}

  BucketingSearch run(const std::vector<double>& caps) {
    if (!caps.empty())
      take_caps(caps);
    else if (cap_holds_for_first_bucket(torch_))
      walk_one_cap_or_first();
    else if (first_bucket_tunable(torch_) && !options_.first_bucket_mb)
      walk_both();
    else
      walk_caps(exactly(first_in_force()));
    return std::move(result_);
  }

 private:
  void add(std::optional<Bytes> cap, const LimitRange& first, std::vector<Bytes> limits,
           LimitRange range, bool reachable = true) {
    Bucketing bucketing{.limits = std::move(limits),
                        .point = {},
                        .first_range_mb = {mib(first.low), mib(first.high)}};
    if (cap) bucketing.point.bucket_cap_mb = mib(*cap);
    bucketing.point.first_bucket_mb = mib(bucketing.limits.front());
    bucketing.point.cap_range_mb = {mib(range.low), mib(range.high)};
    bucketing.point.buckets = range.buckets;
    bucketing.point.reachable = reachable;
    result_.found.push_back(std::move(bucketing));
  }

  /// Takes exactly these caps, in order, each once.
  void take_caps(const std::vector<double>& caps) {
    for (const double cap : std::set<double>(caps.begin(), caps.end())) {
      DdpOptions chosen = plain_;
      chosen.bucket_cap_mb = cap;
      std::vector<Bytes> limits = bucket_limits(chosen, torch_).rebuild;
      bool reachable = true;
      if (options_.first_bucket_mb) {
        limits.front() = first_in_force();
        chosen.first_bucket_mb = options_.first_bucket_mb;
        reachable = !unsupported(chosen, torch_);
      }
      const std::size_t count = runs_.buckets(runs_.cut(limits));
      const Bytes value = limits.back();
      const bool follows = limits.front() == value;
      add(value, exactly(limits.front()), limits, {value, value, count}, reachable);
      // The caps are reported as asked for, not as PyTorch truncates them to whole bytes.
      CurvePoint& point = result_.found.back().point;
      point.bucket_cap_mb = cap;
      point.cap_range_mb = {cap, cap};
      if (follows) point.first_bucket_mb = cap;
    }
  }

  Bytes first_in_force() const {
    DdpOptions first = plain_;
    first.first_bucket_mb = options_.first_bucket_mb;
    return bucket_limits(first, torch_).rebuild.front();
  }

  /// Walks two families: one cap for all buckets, or no cap and another first bucket before 25 MiB.
  void walk_one_cap_or_first() {
    const auto one_cap = [](Bytes cap) { return std::vector<Bytes>{cap, cap}; };
    for (const LimitRange& range : walk(runs_, {.from = 0}, one_cap))
      add(range.name(), range, one_cap(range.name()), range);
    for (const LimitRange& range : firsts()) {
      const std::vector<Bytes> limits = {name_of_first(range), default_cap_};
      const Cut cut = runs_.cut(limits);
      // If a single cap gives these buckets, it is the smallest closed bucket among them.
      const std::optional<Bytes> cap = cut.smallest_closed;
      if (!cap) continue;  // one bucket of everything, as a cap gives
      if (cut.same_buckets(runs_.cut(one_cap(*cap)))) continue;
      add(std::nullopt, range, limits, {default_cap_, default_cap_, range.buckets});
    }
  }

  /// The first bucket is the same for every cap, so the walks nest.
  void walk_both() {
    const std::vector<LimitRange> all = firsts();
    const std::size_t caps = caps_after(default_first_).size();
    constexpr std::size_t kMostPairs = 200'000;
    if (all.size() * caps <= kMostPairs) {
      for (const LimitRange& range : all) walk_caps(range);
      return;
    }
    result_.left_out = fmt::format(
        "{} first buckets with {} caps each are too many to try. Every cap was tried with the "
        "default first bucket, and every first bucket with the default cap",
        all.size(), caps);
    walk_caps(exactly(default_first_));
    for (const LimitRange& range : all)
      if (name_of_first(range) != default_first_)
        add(default_cap_, range, {name_of_first(range), default_cap_},
            {default_cap_, default_cap_, range.buckets});
  }

  void walk_caps(const LimitRange& firsts) {
    const Bytes first = name_of_first(firsts);
    for (const LimitRange& range : caps_after(first))
      add(range.name(), firsts, {first, range.name()}, range);
  }

  static LimitRange exactly(Bytes limit) { return {limit, limit, 0}; }

  std::vector<LimitRange> caps_after(Bytes first) const {
    return walk(runs_, {.from = 1}, [&](Bytes cap) { return std::array{first, cap}; });
  }

  std::vector<LimitRange> firsts() const {
    return walk(runs_, {.from = 0, .only = true}, [&](Bytes first) {
      return std::array{first, default_cap_};
    });
  }

  /// The default's own limit if it gives this first bucket, so that the default appears by name.
  Bytes name_of_first(const LimitRange& range) const {
    return range.low <= default_first_ && default_first_ <= range.high ? default_first_
                                                                       : range.name();
  }

  const DdpOptions& options_;
  const TorchVersion torch_;
  const DdpOptions plain_;
  const GradientRuns runs_;
  const Bytes default_first_;
  const Bytes default_cap_;
  BucketingSearch result_;
};

}  // namespace

BucketCaps caps_of(const Bucketing& bucketing, TorchVersion torch) {
  const CurvePoint& point = bucketing.point;
  const bool follows = point.bucket_cap_mb && cap_holds_for_first_bucket(torch);
  return {.bucket_cap_mb = point.bucket_cap_mb,
          .first_bucket_mb = follows ? std::nullopt : std::optional(point.first_bucket_mb)};
}

std::span<const double> typed_caps(const Job& job) {
  constexpr double kLeastOfLargerModels = 0.5;
  Bytes gradients;
  for (const Bytes one : job.gradients()) gradients += one;
  const double* const first = mib(gradients) <= 10 * kLeastOfLargerModels
                                  ? kTypedCaps.begin()
                                  : std::ranges::lower_bound(kTypedCaps, kLeastOfLargerModels);
  return {first, kTypedCaps.end()};
}

std::vector<double> caps_within(std::span<const double> caps,
                                const std::pair<double, double>& range_mb) {
  std::vector<double> within;
  for (const double cap : caps)
    if (cap >= range_mb.first && cap <= range_mb.second) within.push_back(cap);
  return within;
}

double mib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / (1024.0 * 1024.0);
}

double round_cap(double low, double high) {
  if (high == kNoLimitMb) high = 2 * low;  // open upwards
  const auto fits = [&](double cap) { return cap >= low && cap <= high && cap > 0; };
  const double middle = (low + high) / 2;
  for (const double unit : {100.0, 50.0, 25.0, 10.0, 5.0, 1.0}) {
    const double near = std::floor(middle / unit + 0.5) * unit;
    for (const double cap : {near, near - unit, near + unit})
      if (fits(cap)) return cap;
  }
  for (const double parts : {2.0, 10.0, 100.0, 1000.0, 10000.0}) {
    const double near = std::floor(middle * parts + 0.5);
    for (const double cap : {near / parts, (near - 1) / parts, (near + 1) / parts})
      if (fits(cap)) return cap;
  }
  return high;
}

std::vector<Bucket> buckets_under(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<Bytes>& limits) {
  return bucket_limits(options, torch).rebuilt_from ? rebuilt_buckets(workload, limits)
                                                    : construction_buckets(workload, limits);
}

Bucketing default_bucketing(const Workload& workload, const DdpOptions& options,
                            TorchVersion torch) {
  const DdpOptions plain = without_caps(options);
  const std::vector<Bytes> limits = bucket_limits(plain, torch).rebuild;
  Bucketing result{.limits = limits, .point = {}, .first_range_mb = {}};
  result.point.first_bucket_mb = mib(limits.front());
  result.point.buckets = buckets_under(workload, plain, torch, limits).size();
  result.point.cap_range_mb = {mib(limits.back()), mib(limits.back())};
  return result;
}

BucketingSearch search_bucketings(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<double>& caps) {
  return Search(workload, options, torch).run(caps);
}

}  // namespace ddpsim
