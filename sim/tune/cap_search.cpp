#include "cap_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice.hpp"
#include "best_partition.hpp"
#include "bucketing_search.hpp"
#include "candidates.hpp"
#include "cap_curve.hpp"
#include "ddpsim/sim/parallel.hpp"
#include "why.hpp"

namespace ddpsim {
namespace {

/// What a setting gains takes some dozens of steps.
constexpr std::size_t kGainsPerThread = 2;
/// Of what can be measured: gains that lie closer are as good as each other.
constexpr double kAsGood = 0.5;
constexpr const char* kNoPartition =
    "DDPOptimizer cuts where its caps say, and buckets apart from them cannot be set";

class Tuner {
 public:
  Tuner(const Job& job, const TuneOptions& tuning, const Readings& readings)
      : today_buckets_(ddpsim::buckets_of(job)),
        gains_(job, today_buckets_, readings),
        job_(gains_.job(0)),
        workload_(job_.workload()),
        options_(job_.options()),
        tuning_(tuning),
        standard_(standard()),
        today_(today()),
        measurable_(measurable(baseline().iteration, tuning)) {}

  TuneResult run() {
    BucketingSearch search = searched();
    Candidates candidates(gains_, std::move(search.found), tuning_);
    const std::size_t best = index_of_best(candidates);
    TuneResult result;
    result.default_setting = standard_;
    result.today = today_;
    result.best = best == kNone ? baseline() : candidates[best].point;
    result.recommended = recommend(candidates, best);
    result.left_out = std::move(search.left_out);
    result.only_caps_asked = !tuning_.caps.empty();
    result.lower_bound = lower_bound(job_, today_buckets_);
    partition(candidates, best, result);
    for (const std::size_t i : candidates.simulated()) result.curve.push_back(candidates[i].point);
    result.unsimulated = candidates.size() - result.curve.size();
    return result;
  }

  /// The same, and nothing else.
  Recommendation recommendation() {
    Candidates candidates(gains_, searched().found, tuning_);
    return recommend(candidates, index_of_best(candidates));
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// DDPOptimizer's first limit must not be above its cap.
  BucketingSearch searched() const {
    BucketingSearch search = search_bucketings(workload_, options_.ddp, tuning_.caps);
    if (!cap_cuts(job_)) return search;
    for (Bucketing& bucketing : search.found) {
      const BucketCaps caps = caps_of(bucketing, options_.ddp.torch);
      const Job job = with_buckets(job_, {}, caps);
      const CutLimits limits = piece_limits(job.options().ddp);
      bucketing.point.reachable = bucketing.point.reachable && limits.first <= limits.cap;
    }
    return search;
  }

  CurvePoint standard() const {
    Bucketing bucketing = default_bucketing(workload_, options_.ddp);
    const std::vector<Bucket> buckets = buckets_under(workload_, options_.ddp, bucketing.limits);
    const auto by_default = [&](const Job& job) {
      return with_buckets(job, buckets, BucketCaps{});
    };
    time_bucketing(gains_, by_default, bucketing.point);
    return bucketing.point;
  }

  std::optional<Today> today() const {
    const DdpOptions& ddp = options_.ddp;
    if (!options_.buckets && !ddp.bucket_cap_mb && !ddp.first_bucket_mb) return std::nullopt;
    Today today{.recorded = options_.buckets.has_value(), .point = {}, .bucket_bytes = {}};
    for (const Bucket& bucket : today_buckets_) today.bucket_bytes.push_back(bucket.bytes);
    CurvePoint& point = today.point;
    const auto as_it_is = [&](const Job& job) { return with_buckets(job, today_buckets_); };
    time_bucketing(gains_, as_it_is, point);
    point.buckets = today_buckets_.size();
    if (today.recorded) return today;
    const std::vector<Bytes> limits = bucket_limits(ddp).rebuild;
    point.bucket_cap_mb = ddp.bucket_cap_mb;
    point.first_bucket_mb = mib(limits.front());
    point.cap_range_mb = {mib(limits.back()), mib(limits.back())};
    return today;
  }

  /// From what every gain is counted.
  const CurvePoint& baseline() const { return today_ ? today_->point : standard_; }

  /// As predicted, by whichever reading.
  Duration mean_gain(const CurvePoint& point) const {
    const Duration gain = baseline().iteration - point.iteration;
    if (!point.if_communication) return gain;
    return (gain + *baseline().if_communication - *point.if_communication).scaled(0.5);
  }

  /// The first of the fastest reachable points.
  std::size_t index_of_best(const Candidates& candidates) const {
    std::size_t best = kNone;
    for (const std::size_t i : candidates.simulated())
      if (candidates[i].point.reachable &&
          (best == kNone || candidates[i].point.iteration < candidates[best].point.iteration))
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

  Recommendation recommend(Candidates& candidates, std::size_t best) const {
    Recommendation verdict;
    verdict.default_today = !today_;
    verdict.measurable = measurable_;
    if (best == kNone) {
      verdict.reason = "none of the caps asked for can be set with this PyTorch";
      return verdict;
    }
    const CapCurve curve(candidates.all(), cap_is_first_limit());
    const std::vector<Setting> examined = examine(candidates, best);
    Setting setting = most_expected(candidates, examined, true);
    // One number to pass is easier to live with than two: the second must earn its place.
    const Setting any = most_expected(candidates, examined, false);
    if (setting.index == kNone ||
        any.gain.expected > setting.gain.expected + measurable_.scaled(0.25))
      setting = any;
    if (setting.cap && tuning_.caps.empty() && is_worth(setting.gain, measurable_))
      setting = in_the_middle(curve, candidates, examined, setting);

    candidates.simulate(setting.index);
    const CurvePoint& point = candidates[setting.index].point;
    verdict.cap_range_mb = point.cap_range_mb;
    if (setting.cap) {
      const auto [low, high] = simulated_range(curve, candidates, setting.index);
      verdict.cap_range_mb = {curve[low].cap_range_mb.first, curve[high].cap_range_mb.second};
      if (tuning_.caps.empty()) verdict.next_worse = curve.next_worse(setting.index, measurable_);
    }
    verdict.bucket_cap_mb = setting.cap;
    verdict.gain = setting.gain.gain;
    verdict.expected = setting.gain.expected;
    verdict.regret = setting.gain.regret();
    if (!is_simple(point)) verdict.first_bucket_mb = point.first_bucket_mb;
    verdict.set = is_worth(setting.gain, measurable_) && !contradicted();
    explain(candidates, setting.index, best, verdict);
    return verdict;
  }

  /// Caps around a point whose steps are as its own, as far as can be measured: that its ends are the last ones, and what
  /// comes behind them worse, is simulated. Each pass moves an end by what estimates still miss, a few points at most.
  std::pair<std::size_t, std::size_t> simulated_range(const CapCurve& curve, Candidates& candidates,
                                                      std::size_t index) const {
    constexpr int kMostPasses = 64;
    const Duration step = candidates[index].point.iteration;
    for (int pass = 1;; ++pass) {
      const auto [low, high] = curve.within(index, step - measurable_, step + measurable_);
      const auto [worse_low, worse_high] = curve.within(index, Duration(), step + measurable_);
      bool all = true;
      for (const std::size_t end : {low, high, worse_low, worse_high})
        for (const std::size_t i :
             {end == 0 ? end : end - 1, end, std::min(end + 1, candidates.size() - 1)}) {
          all = all && candidates.is_simulated(i);
          candidates.simulate(i);
        }
      if (all || pass == kMostPasses) return {low, high};
    }
  }

  bool contradicted() const { return tuning_.replay && tuning_.replay->contradicted(); }

  /// Only a cap needs to be passed: the first bucket follows it or is the default's.
  bool is_simple(const CurvePoint& point) const {
    return is_default(point) ||
           (point.bucket_cap_mb &&
            (cap_is_first_limit() || point.first_bucket_mb == standard_.first_bucket_mb));
  }

  /// Nothing needs to be passed.
  bool is_default(const CurvePoint& point) const {
    return !point.bucket_cap_mb && point.first_bucket_mb == standard_.first_bucket_mb;
  }

  /// All points that gain what can be measured, weighed; where none does, the best point.
  std::vector<Setting> examine(const Candidates& candidates, std::size_t best) const {
    std::vector<std::size_t> gaining;
    for (const std::size_t i : candidates.simulated())
      if (candidates[i].point.reachable && mean_gain(candidates[i].point) >= measurable_)
        gaining.push_back(i);
    if (gaining.empty()) gaining = {best};
    // Very many candidates differ by next to nothing: a sample by rank stands for all.
    std::stable_sort(gaining.begin(), gaining.end(), [&](std::size_t a, std::size_t b) {
      return mean_gain(candidates[a].point) > mean_gain(candidates[b].point);
    });
    const std::size_t most = most_examined();
    const std::size_t stride = (gaining.size() + most - 1) / most;
    std::vector<Setting> examined((gaining.size() + stride - 1) / stride);
    for_each_index(
        examined.size(), tuning_.threads, kGainsPerThread, tuning_.progress, [&](std::size_t i) {
          const std::size_t index = gaining[i * stride];
          examined[i] = {index, candidates[index].point.bucket_cap_mb, gain(candidates, index)};
        });
    return examined;
  }

  /// So many that their steps have about as many gradients as those of the search.
  std::size_t most_examined() const {
    constexpr std::size_t kLeast = 8;
    constexpr std::size_t kMost = 256;
    const std::size_t gradients = gains_.steps() * workload_.parameters.size();
    return std::clamp(tuning_.most_gradients / gradients, kLeast, kMost);
  }

  /// Of what is worth it the most expected; where nothing is, what is surest.
  Setting most_expected(const Candidates& candidates, const std::vector<Setting>& examined,
                        bool simple) const {
    const Setting* most = nullptr;
    const auto better = [&](const Setting& a, const Setting& b) {
      const bool worth = is_worth(a.gain, measurable_);
      if (worth != is_worth(b.gain, measurable_)) return worth;
      return worth ? a.gain.expected > b.gain.expected : a.gain.gain.low > b.gain.gain.low;
    };
    for (const Setting& one : examined) {
      if (simple && !is_simple(candidates[one.index].point)) continue;
      if (most == nullptr || better(one, *most)) most = &one;
    }
    return most == nullptr ? Setting{} : *most;
  }

  /// Caps whose expected gains cannot be told from the greatest are as good; of them one on the widest plateau, a
  /// round number near its middle, is far from every cliff. Where its gain is not as good there, in ever smaller
  /// parts of the plateau, at last among the caps that give the very bucketing.
  Setting in_the_middle(const CapCurve& curve, const Candidates& candidates,
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
      const WeighedGain rounded = gain(candidates, i);
      if (curve[i].cap_range_mb.first <= cap && as_good(rounded)) return {i, cap, rounded};
      low = exact - (exact - low) / 2;
      high = exact + (high - exact) / 2;
    }
    const auto& [from, to] = curve[exact].cap_range_mb;
    chosen.cap = round_cap(from, to);
    return chosen;
  }

  void explain(const Candidates& candidates, std::size_t chosen, std::size_t best,
               Recommendation& verdict) const {
    if (verdict.set) {
      if (verdict.first_bucket_mb)
        verdict.python = fmt::format("torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {}",
                                     std::llround(*verdict.first_bucket_mb * 1048576));
      if (verdict.bucket_cap_mb)
        verdict.python += fmt::format("{}DistributedDataParallel(model, bucket_cap_mb={})",
                                      verdict.python.empty() ? "" : "; ", *verdict.bucket_cap_mb);
      if (verdict.python.empty()) verdict.python = "DistributedDataParallel(model)";
      verdict.reason =
          why_faster(with_buckets(job_, today_buckets_), candidates.change_to(chosen)(job_));
      if (candidates[best].point.iteration < candidates[chosen].point.iteration)
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

  WeighedGain gain(const Candidates& candidates, std::size_t i) const {
    return gains_.of(candidates.change_to(i));
  }

  void partition(const Candidates& candidates, std::size_t best, TuneResult& result) const {
    if (const std::optional<std::string> reason =
            cap_cuts(job_) ? std::optional<std::string>(kNoPartition)
                           : no_partition_because(workload_, options_.ddp.comm_hook)) {
      result.best_partition_absent_because = *reason;
      return;
    }
    std::vector<Bucket> cut = best_partition(job_);
    const Duration time = simulate_times(with_buckets(job_, cut)).iteration;
    // Seen in full, a cap's bucketing may still beat the cut.
    const Duration settable =
        best == kNone ? standard_.iteration : candidates[best].point.iteration;
    const bool list =
        has_bucket_cap_mb_list(options_.ddp.torch) && bucket_limits(options_.ddp).rebuilt_from;
    if (settable > time)
      result.best_partition = {std::move(cut), time, list, false};
    else if (best == kNone)
      result.best_partition = {
          buckets_under(workload_, options_.ddp, default_bucketing(workload_, options_.ddp).limits),
          settable, true, true};
    else
      result.best_partition = {candidates.buckets_of(best), settable, true, true};
  }

  const std::vector<Bucket> today_buckets_;
  const Gains gains_;
  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  const TuneOptions& tuning_;
  const CurvePoint standard_;
  const std::optional<Today> today_;
  const Duration measurable_;
};

}  // namespace

bool cap_cuts(const Job& job) {
  const Compiled* compiled = compiled_pieces(job.options().scheme);
  return compiled != nullptr && compiled->optimize_ddp == OptimizeDdp::ddp_optimizer;
}

TuneResult search_caps(const Job& job, const TuneOptions& tuning, const Readings& readings) {
  return Tuner(job, tuning, readings).run();
}

Recommendation recommend_cap(const Job& job, const TuneOptions& tuning, const Readings& readings) {
  return Tuner(job, tuning, readings).recommendation();
}

}  // namespace ddpsim
