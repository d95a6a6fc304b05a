#include "cap_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice.hpp"
#include "best_partition.hpp"
#include "bucketing_search.hpp"
#include "cap_curve.hpp"
#include "parallel.hpp"
#include "why.hpp"

namespace ddpsim {
namespace {

/// A bucketing is simulated in well under a millisecond: fewer are not worth a thread.
constexpr std::size_t kPointsPerThread = 8;
/// Of what can be measured: gains that lie closer are as good as each other.
constexpr double kAsGood = 0.5;

class Tuner {
 public:
  Tuner(const Job& job, const TuneOptions& tuning, const Readings& readings)
      : today_buckets_(ddpsim::buckets_of(job)),
        gains_(job, today_buckets_, readings),
        job_(gains_.job(0)),
        workload_(job_.workload()),
        options_(job_.options()),
        tuning_(tuning),
        standard_(evaluated(default_bucketing(workload_, options_.ddp))),
        today_(today()),
        measurable_(measurable(baseline().iteration, tuning)) {}

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
    CurvePoint& point = today.point;
    time(point, today_buckets_);
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

  void time(CurvePoint& point, const std::vector<Bucket>& buckets) const {
    const StepTimes times = simulate_times(with_buckets(job_, buckets));
    point.iteration = times.iteration;
    point.exposed_communication = times.exposed_communication;
    point.blocking_communication = times.blocking_communication();
    if (gains_.readings() > 1)
      point.if_communication = simulate_times(with_buckets(gains_.job(1), buckets)).iteration;
  }

  Bucketing evaluated(Bucketing bucketing) const {
    time(bucketing.point, buckets_of(bucketing));
    return bucketing;
  }

  /// As predicted, by whichever reading.
  Duration mean_gain(const CurvePoint& point) const {
    const Duration gain = baseline().iteration - point.iteration;
    if (!point.if_communication) return gain;
    return (gain + *baseline().if_communication - *point.if_communication).scaled(0.5);
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

  /// A cap that is passed says what the first limit is; before, the two are apart even where they
  /// are as large.
  bool cap_is_first_limit() const { return cap_holds_for_first_bucket(options_.ddp.torch); }

  /// A setting that might be recommended: a point of the curve, the cap to write, what it gains.
  struct Setting {
    std::size_t index = kNone;
    std::optional<double> cap;
    WeighedGain gain;
  };

  Recommendation recommend(const std::vector<Bucketing>& found, std::size_t best) const {
    Recommendation verdict;
    verdict.default_today = !today_;
    verdict.measurable = measurable_;
    if (best == kNone) {
      verdict.reason = "none of the caps asked for can be set with this PyTorch";
      return verdict;
    }
    const CapCurve curve(found, cap_is_first_limit());
    const std::vector<Setting> examined = examine(found, best);
    Setting setting = most_expected(found, examined, true);
    // One number to pass is easier to live with than two: the second must earn its place.
    const Setting any = most_expected(found, examined, false);
    if (setting.index == kNone ||
        any.gain.expected > setting.gain.expected + measurable_.scaled(0.25))
      setting = any;
    if (setting.cap && tuning_.caps.empty() && is_worth(setting.gain, measurable_))
      setting = in_the_middle(curve, found, examined, setting);

    const CurvePoint& point = found[setting.index].point;
    verdict.cap_range_mb = point.cap_range_mb;
    if (setting.cap) {
      const auto [low, high] =
          curve.within(setting.index, point.iteration - measurable_, point.iteration + measurable_);
      verdict.cap_range_mb = {curve[low].cap_range_mb.first, curve[high].cap_range_mb.second};
      if (tuning_.caps.empty()) verdict.next_worse = curve.next_worse(setting.index, measurable_);
    }
    verdict.bucket_cap_mb = setting.cap;
    verdict.gain = setting.gain.gain;
    verdict.expected = setting.gain.expected;
    verdict.regret = setting.gain.regret();
    if (!is_simple(point)) verdict.first_bucket_mb = point.first_bucket_mb;
    verdict.set = is_worth(setting.gain, measurable_) && !contradicted();
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

  /// All points that gain what can be measured, weighed; where none does, the best point.
  std::vector<Setting> examine(const std::vector<Bucketing>& found, std::size_t best) const {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].point.reachable && mean_gain(found[i].point) >= measurable_)
        candidates.push_back(i);
    if (candidates.empty()) candidates = {best};
    // Many thousands of candidates differ by next to nothing: a sample by rank stands for all.
    constexpr std::size_t kExamined = 256;
    std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
      return mean_gain(found[a].point) > mean_gain(found[b].point);
    });
    const std::size_t stride = (candidates.size() + kExamined - 1) / kExamined;
    std::vector<Setting> examined((candidates.size() + stride - 1) / stride);
    for_each_index(examined.size(), tuning_.threads, kPointsPerThread, [&](std::size_t i) {
      const std::size_t index = candidates[i * stride];
      examined[i] = {index, found[index].point.bucket_cap_mb, gain(found[index])};
    });
    return examined;
  }

  /// Of what is worth it the most expected; where nothing is, what is surest.
  Setting most_expected(const std::vector<Bucketing>& found, const std::vector<Setting>& examined,
                        bool simple) const {
    const Setting* most = nullptr;
    const auto better = [&](const Setting& a, const Setting& b) {
      const bool worth = is_worth(a.gain, measurable_);
      if (worth != is_worth(b.gain, measurable_)) return worth;
      return worth ? a.gain.expected > b.gain.expected : a.gain.gain.low > b.gain.gain.low;
    };
    for (const Setting& one : examined) {
      if (simple && !is_simple(found[one.index].point)) continue;
      if (most == nullptr || better(one, *most)) most = &one;
    }
    return most == nullptr ? Setting{} : *most;
  }

  /// Caps whose expected gains cannot be told from the greatest are as good; of them one on the widest plateau, a
  /// round number near its middle, is far from every cliff. Where its gain is not as good there, in ever smaller
  /// parts of the plateau, at last among the caps that give the very bucketing.
  Setting in_the_middle(const CapCurve& curve, const std::vector<Bucketing>& found,
                        const std::vector<Setting>& examined, const Setting& most) const {
    const Duration slack = measurable_.scaled(kAsGood);
    const Duration slowest = curve[most.index].iteration + slack;
    const bool simple = is_simple(curve[most.index]);
    const auto as_good = [&](const WeighedGain& gain) {
      return is_worth(gain, measurable_) && gain.expected + slack >= most.gain.expected;
    };
    Setting chosen = most;
    auto [low, high] = curve.within(most.index, Duration(), slowest);
    for (const Setting& one : examined) {
      if (!one.cap || !as_good(one.gain) || (simple && !is_simple(curve[one.index]))) continue;
      const auto [from, to] = curve.within(one.index, Duration(), slowest);
      if (curve.width(from, to) <= curve.width(low, high)) continue;
      chosen = one;
      low = from;
      high = to;
    }
    const std::size_t exact = chosen.index;
    while (low < high) {
      const double cap = round_cap(curve[low].cap_range_mb.first, curve.end(high));
      std::size_t i = low;
      while (i < high && curve[i].cap_range_mb.second < cap) ++i;
      const WeighedGain rounded = gain(found[i]);
      if (curve[i].cap_range_mb.first <= cap && as_good(rounded)) return {i, cap, rounded};
      low = exact - (exact - low) / 2;
      high = exact + (high - exact) / 2;
    }
    const auto& [from, to] = curve[exact].cap_range_mb;
    chosen.cap = round_cap(from, to);
    return chosen;
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
      verdict.reason = why_faster(job_, today_buckets_, buckets_of(chosen));
      if (best.point.iteration < chosen.point.iteration)
        verdict.reason += "; not the fastest predicted, but the most robust";
      return;
    }
    verdict.bucket_cap_mb.reset();
    verdict.first_bucket_mb.reset();
    if (verdict.gain.value <= Duration())
      verdict.reason = "no other bucketing is faster";
    else if (verdict.gain.value < measurable_)
      verdict.reason = "no other bucketing gains as much as could be measured";
    else if (contradicted())
      verdict.reason = "today's measured step contradicts its replay: another job was recorded";
    else
      verdict.reason =
          "a larger gain is predicted, but within what is not known it may cost more than can be "
          "measured, or than a quarter of what is expected of it";
    verdict.most_robust = std::exchange(verdict.gain, Gain{});
    verdict.cap_range_mb = baseline().cap_range_mb;
  }

  WeighedGain gain(const Bucketing& chosen) const { return gains_.of(buckets_of(chosen)); }

  void partition(const std::vector<Bucketing>& found, std::size_t best, TuneResult& result) const {
    if (const std::optional<std::string> reason =
            no_partition_because(workload_, options_.ddp.comm_hook)) {
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
  const Duration measurable_;
};

}  // namespace

TuneResult search_caps(const Job& job, const TuneOptions& tuning, const Readings& readings) {
  return Tuner(job, tuning, readings).run();
}

}  // namespace ddpsim
