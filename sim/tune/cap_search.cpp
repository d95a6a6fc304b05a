#include "cap_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice.hpp"
#include "best_partition.hpp"
#include "bucketing_search.hpp"
#include "parallel.hpp"

namespace ddpsim {
namespace {

/// A bucketing is simulated in well under a millisecond: fewer are not worth a thread.
constexpr std::size_t kPointsPerThread = 8;

class Tuner {
 public:
  Tuner(const Job& job, const TuneOptions& tuning, const std::optional<MeasuredCause>& measured)
      : today_buckets_(ddpsim::buckets_of(job)),
        gains_(job, today_buckets_, measured),
        job_(gains_.job()),
        workload_(job_.workload()),
        options_(job_.options()),
        tuning_(tuning),
        standard_(evaluated(default_bucketing(workload_, options_.ddp))),
        today_(today()) {}

  TuneResult run() {
    BucketingSearch search = search_bucketings(workload_, options_.ddp, tuning_.caps);
    std::vector<Bucketing>& found = search.found;
    for_each_index(found.size(), tuning_.threads, kPointsPerThread,
                   [&](std::size_t i) { found[i] = evaluated(std::move(found[i])); });

    TuneResult result;
    result.default_setting = standard_.point;
    result.today = today_;
    const std::size_t best = index_of_best(found);
    result.best = best == kNone ? baseline() : found[best].point;
    result.recommended = recommend(found, best);
    result.left_out = std::move(search.left_out);
    result.only_caps_asked = !tuning_.caps.empty();
    result.lower_bound = lower_bound(job_, today_buckets_);
    partition(found, best, result);
    for (Bucketing& bucketing : found) result.curve.push_back(std::move(bucketing.point));
    return result;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::optional<Today> today() const {
    const DdpOptions& ddp = options_.ddp;
    if (!options_.buckets && !ddp.bucket_cap_mb && !ddp.first_bucket_mb) return std::nullopt;
    Today today{.recorded = options_.buckets.has_value(), .point = {}, .bucket_bytes = {}};
    for (const Bucket& bucket : today_buckets_) today.bucket_bytes.push_back(bucket.bytes);
    const StepTimes times = simulate_times(with_buckets(job_, today_buckets_));
    CurvePoint& point = today.point;
    point.iteration = times.iteration;
    point.exposed_communication = times.exposed_communication;
    point.blocking_communication = times.blocking_communication();
    point.buckets = today_buckets_.size();
    if (today.recorded) return today;
    const std::vector<Bytes> limits = bucket_limits(ddp).rebuild;
    point.bucket_cap_mb = ddp.bucket_cap_mb;
    point.first_bucket_mb = mib(limits.front());
    point.cap_range_mb = {mib(limits.back()), mib(limits.back())};
    return today;
  }

  /// From what every gain is counted.
  const CurvePoint& baseline() const { return today_ ? today_->point : standard_.point; }

  std::vector<Bucket> buckets_of(const Bucketing& bucketing) const {
    return buckets_under(workload_, options_.ddp, bucketing.limits);
  }

  Bucketing evaluated(Bucketing bucketing) const {
    const StepTimes times = simulate_times(with_buckets(job_, buckets_of(bucketing)));
    bucketing.point.iteration = times.iteration;
    bucketing.point.exposed_communication = times.exposed_communication;
    bucketing.point.blocking_communication = times.blocking_communication();
    return bucketing;
  }

  /// The first of the fastest reachable points.
  std::size_t index_of_best(const std::vector<Bucketing>& found) const {
    std::size_t best = kNone;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].point.reachable &&
          (best == kNone || found[i].point.iteration < found[best].point.iteration))
        best = i;
    return best;
  }

  /// Points beside `index` in the same family, cap by cap without a gap, whose steps differ from its
  /// step by at most `slack`.
  std::pair<std::size_t, std::size_t> plateau(const std::vector<Bucketing>& found,
                                              std::size_t index, Duration slack) const {
    const CurvePoint& centre = found[index].point;
    const auto belongs = [&](const CurvePoint& point) {
      return point.reachable == centre.reachable &&
             point.bucket_cap_mb.has_value() == centre.bucket_cap_mb.has_value() &&
             (!centre.bucket_cap_mb || cap_is_first_limit() ||
              point.first_bucket_mb == centre.first_bucket_mb) &&
             std::max(point.iteration, centre.iteration) -
                     std::min(point.iteration, centre.iteration) <=
                 slack;
    };
    constexpr double kByteMb = 1.0 / 1048576;
    const auto adjoin = [&](std::size_t lower, std::size_t upper) {
      return found[upper].point.cap_range_mb.first <=
             found[lower].point.cap_range_mb.second + kByteMb;
    };
    std::size_t low = index;
    std::size_t high = index;
    while (low > 0 && belongs(found[low - 1].point) && adjoin(low - 1, low)) --low;
    while (high + 1 < found.size() && belongs(found[high + 1].point) && adjoin(high, high + 1))
      ++high;
    return {low, high};
  }

  /// A cap that is passed says what the first limit is; before, the two are apart even where they
  /// are as large.
  bool cap_is_first_limit() const { return cap_holds_for_first_bucket(options_.ddp.torch); }

  /// A setting that might be recommended: a point of the curve, the cap to write, what it gains.
  struct Setting {
    std::size_t index = kNone;
    std::optional<double> cap;
    Gain gain;
  };

  Recommendation recommend(const std::vector<Bucketing>& found, std::size_t best) const {
    Recommendation verdict;
    verdict.default_today = !today_;
    verdict.measurable = baseline().iteration.scaled(tuning_.measurable_share);
    if (best == kNone) {
      verdict.reason = "none of the caps asked for can be set with this PyTorch";
      return verdict;
    }
    const Duration indifferent = verdict.measurable.scaled(0.25);
    const Duration least = least_gain(baseline().iteration, tuning_);
    // One number to pass is easier to live with than two: the second must earn its place.
    Setting setting = most_robust(found, best, least, true);
    const Setting any = most_robust(found, best, least, false);
    if (any.gain.low > setting.gain.low + indifferent) setting = any;

    if (setting.cap) {
      const auto [low, high] = plateau(found, setting.index, indifferent);
      round(found, low, high, verdict.measurable, least, setting);
    }
    const CurvePoint& point = found[setting.index].point;
    verdict.cap_range_mb = point.cap_range_mb;
    if (setting.cap) {
      // Of the cap that is recommended, which need not be the one before rounding.
      const auto [low, high] = plateau(found, setting.index, verdict.measurable);
      verdict.cap_range_mb = {found[low].point.cap_range_mb.first,
                              found[high].point.cap_range_mb.second};
    }
    verdict.bucket_cap_mb = setting.cap;
    verdict.gain = setting.gain;
    if (!is_simple(point)) verdict.first_bucket_mb = point.first_bucket_mb;
    verdict.set = verdict.gain.value >= least && verdict.gain.low > Duration() && !contradicted();
    explain(found[setting.index], found[best], verdict);
    return verdict;
  }

  bool contradicted() const { return tuning_.replay && tuning_.replay->contradicted(); }

  /// Only a cap needs to be passed: the first bucket follows it or is the default's.
  bool is_simple(const CurvePoint& point) const {
    return is_default(point) ||
           (point.bucket_cap_mb &&
            (cap_is_first_limit() || point.first_bucket_mb == standard_.point.first_bucket_mb));
  }

  /// Nothing needs to be passed.
  bool is_default(const CurvePoint& point) const {
    return !point.bucket_cap_mb && point.first_bucket_mb == standard_.point.first_bucket_mb;
  }

  /// Of all points that gain `least` and more, the one whose gain is greatest where it is least sure:
  /// a cap that is best only if every estimate is exact is no advice. Where none gains so much, the
  /// best point.
  Setting most_robust(const std::vector<Bucketing>& found, std::size_t best, Duration least,
                      bool simple) const {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].point.reachable && (!simple || is_simple(found[i].point)) &&
          baseline().iteration - found[i].point.iteration >= least)
        candidates.push_back(i);
    if (candidates.empty()) candidates = {best};
    // Many thousands of candidates differ by next to nothing: a sample by rank stands for all.
    constexpr std::size_t kExamined = 256;
    std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
      return found[a].point.iteration < found[b].point.iteration;
    });
    const std::size_t stride = (candidates.size() + kExamined - 1) / kExamined;
    std::vector<Setting> examined((candidates.size() + stride - 1) / stride);
    for_each_index(examined.size(), tuning_.threads, kPointsPerThread, [&](std::size_t i) {
      const std::size_t index = candidates[i * stride];
      examined[i] = {index, found[index].point.bucket_cap_mb, gain(found[index])};
    });
    return *std::max_element(
        examined.begin(), examined.end(),
        [](const Setting& a, const Setting& b) { return a.gain.low < b.gain.low; });
  }

  /// Replaces an exact cap by a round one: anywhere on the plateau if it gains enough and as surely
  /// there, else in ever smaller parts of it, at last among the caps that give the very bucketing.
  void round(const std::vector<Bucketing>& found, std::size_t low, std::size_t high,
             Duration measurable, Duration least, Setting& setting) const {
    if (!tuning_.caps.empty()) return;
    const std::size_t exact = setting.index;
    while (low < high) {
      const double cap =
          round_cap(found[low].point.cap_range_mb.first, found[high].point.cap_range_mb.second);
      std::size_t i = low;
      while (i < high && found[i].point.cap_range_mb.second < cap) ++i;
      const Gain rounded = gain(found[i]);
      if (found[i].point.cap_range_mb.first <= cap && rounded.value >= least &&
          rounded.low > Duration() && rounded.low + measurable >= setting.gain.low) {
        setting = {i, cap, rounded};
        return;
      }
      low = exact - (exact - low) / 2;
      high = exact + (high - exact) / 2;
    }
    const auto& [from, to] = found[exact].point.cap_range_mb;
    setting.cap = round_cap(from, to);
  }

  void explain(const Bucketing& chosen, const Bucketing& best, Recommendation& verdict) const {
    if (verdict.set) {
      if (verdict.first_bucket_mb)
        verdict.python = fmt::format("torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {}",
                                     std::llround(*verdict.first_bucket_mb * 1048576));
      if (verdict.bucket_cap_mb)
        verdict.python += fmt::format("{}DistributedDataParallel(model, bucket_cap_mb={})",
                                      verdict.python.empty() ? "" : "; ", *verdict.bucket_cap_mb);
      if (verdict.python.empty()) verdict.python = "DistributedDataParallel(model)";
      verdict.reason =
          fmt::format("{} bucket{}", chosen.point.buckets, chosen.point.buckets == 1 ? "" : "s");
      verdict.reason += chosen.point.buckets == baseline().buckets
                            ? fmt::format(" as {}, of other sizes", today_ ? "today" : "by default")
                            : fmt::format(" instead of {}", baseline().buckets);
      if (best.point.iteration < chosen.point.iteration)
        verdict.reason += "; not the fastest predicted, but the most robust";
      return;
    }
    verdict.bucket_cap_mb.reset();
    verdict.first_bucket_mb.reset();
    if (verdict.gain.value <= Duration())
      verdict.reason = "no other bucketing is faster";
    else if (verdict.gain.value < verdict.measurable)
      verdict.reason = "no other bucketing gains as much as could be measured";
    else if (contradicted())
      verdict.reason = "today's measured step contradicts its replay: another job was recorded";
    else
      verdict.reason =
          "a larger gain is predicted, but within what is not known about this cluster it may be "
          "none";
    verdict.most_robust = std::exchange(verdict.gain, Gain{});
    verdict.cap_range_mb = baseline().cap_range_mb;
  }

  Gain gain(const Bucketing& chosen) const { return gains_.of(buckets_of(chosen)); }

  void partition(const std::vector<Bucketing>& found, std::size_t best, TuneResult& result) const {
    if (const std::optional<std::string> reason = no_partition_because(workload_)) {
      result.best_partition_absent_because = *reason;
      return;
    }
    std::vector<Bucket> cut = best_partition(job_);
    const Duration time = simulate_times(with_buckets(job_, cut)).iteration;
    // Seen in full, a cap's bucketing may still beat the cut.
    const Bucketing& settable = best == kNone ? standard_ : found[best];
    const bool list =
        has_bucket_cap_mb_list(options_.ddp.torch) && bucket_limits(options_.ddp).rebuilt_from;
    if (settable.point.iteration <= time)
      result.best_partition = {buckets_of(settable), settable.point.iteration, true, true};
    else
      result.best_partition = {std::move(cut), time, list, false};
  }

  const std::vector<Bucket> today_buckets_;
  const Gains gains_;
  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  const TuneOptions& tuning_;
  const Bucketing standard_;
  const std::optional<Today> today_;
};

}  // namespace

TuneResult search_caps(const Job& job, const TuneOptions& tuning,
                       const std::optional<MeasuredCause>& measured) {
  return Tuner(job, tuning, measured).run();
}

}  // namespace ddpsim
