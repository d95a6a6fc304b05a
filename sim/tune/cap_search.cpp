#include "cap_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "advice.hpp"
#include "best_partition.hpp"
#include "bucketing_search.hpp"
#include "candidates.hpp"
#include "cap_choices.hpp"
#include "cap_curve.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "reach.hpp"
#include "why.hpp"

namespace ddpsim {
namespace {

constexpr const char* kNoPartition =
    "DDPOptimizer cuts at its caps, so buckets cannot be set separately";

class Tuner {
 public:
  Tuner(const Job& job, const TuneOptions& tuning, const Readings& readings)
      : current_buckets_(ddpsim::buckets_of(job)),
        gains_(job, current_buckets_, readings),
        job_(gains_.job(0)),
        workload_(job_.workload()),
        options_(job_.options()),
        tuning_(tuning),
        standard_(standard()),
        current_(current()),
        measurable_(measurable(baseline().iteration, tuning)),
        choices_(gains_, tuning, standard_, baseline(), measurable_) {}

  TuneResult run() {
    BucketingSearch search = searched();
    Candidates candidates(gains_, std::move(search.found), tuning_);
    const std::size_t best = index_of_best(candidates);
    TuneResult result;
    result.default_setting = standard_;
    result.current = current_;
    result.best = best == kNone ? baseline() : candidates[best].point;
    result.recommended = recommend(candidates, best);
    result.left_out = std::move(search.left_out);
    result.typed_caps = typed_caps(job_);
    result.only_caps_asked = !tuning_.caps.empty();
    result.lower_bound = lower_bound(job_, current_buckets_);
    partition(candidates, best, result);
    for (const std::size_t i : candidates.simulated()) result.curve.push_back(candidates[i].point);
    result.unsimulated = candidates.size() - result.curve.size();
    return result;
  }

  /// Only the recommendation.
  Recommendation recommendation() {
    Candidates candidates(gains_, searched().found, tuning_);
    return recommend(candidates, index_of_best(candidates));
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// DDPOptimizer's first limit must not exceed its cap.
  BucketingSearch searched() const {
    BucketingSearch search =
        search_bucketings(workload_, options_.ddp(), options_.torch, tuning_.caps);
    if (!cap_cuts(job_)) return search;
    for (Bucketing& bucketing : search.found) {
      const BucketCaps caps = caps_of(bucketing, options_.torch);
      const Job job = with_buckets(job_, {}, caps);
      const CutLimits limits = piece_limits(job.options().ddp());
      bucketing.point.reachable = bucketing.point.reachable && limits.first <= limits.cap;
    }
    return search;
  }

  CurvePoint standard() const {
    Bucketing bucketing = default_bucketing(workload_, options_.ddp(), options_.torch);
    const std::vector<Bucket> buckets =
        buckets_under(workload_, options_.ddp(), options_.torch, bucketing.limits);
    const auto by_default = [&](const Job& job) {
      return with_buckets(job, buckets, BucketCaps{});
    };
    time_bucketing(gains_, by_default, bucketing.point);
    return bucketing.point;
  }

  std::optional<CurrentBuckets> current() const {
    const DdpOptions& ddp = options_.ddp();
    if (!options_.buckets && !ddp.bucket_cap_mb && !ddp.first_bucket_mb) return std::nullopt;
    CurrentBuckets current{
        .recorded = options_.buckets.has_value(), .point = {}, .bucket_bytes = {}};
    for (const Bucket& bucket : current_buckets_) current.bucket_bytes.push_back(bucket.bytes);
    CurvePoint& point = current.point;
    const auto as_it_is = [&](const Job& job) { return with_buckets(job, current_buckets_); };
    time_bucketing(gains_, as_it_is, point);
    point.buckets = current_buckets_.size();
    if (current.recorded) return current;
    const std::vector<Bytes> limits = bucket_limits(ddp, options_.torch).rebuild;
    point.bucket_cap_mb = ddp.bucket_cap_mb;
    point.first_bucket_mb = mib(limits.front());
    point.cap_range_mb = {mib(limits.back()), mib(limits.back())};
    return current;
  }

  /// The point from which every gain is counted.
  const CurvePoint& baseline() const { return current_ ? current_->point : standard_; }

  /// The first of the fastest reachable points.
  std::size_t index_of_best(const Candidates& candidates) const {
    std::size_t best = kNone;
    for (const std::size_t i : candidates.simulated())
      if (candidates[i].point.reachable &&
          (best == kNone || candidates[i].point.iteration < candidates[best].point.iteration))
        best = i;
    return best;
  }

  Recommendation recommend(Candidates& candidates, std::size_t best) const {
    Recommendation verdict;
    verdict.default_as_current = !current_;
    verdict.measurable = measurable_;
    if (best == kNone) {
      verdict.reason = "none of the caps asked for can be set with this PyTorch";
      return verdict;
    }
    std::vector<CapChoice> gaining = choices_.gaining(candidates);
    if (gaining.empty() || contradicted()) return keep(candidates, best, verdict);
    const std::vector<CapChoice> preferred = choices_.in_order_of_preference(candidates, gaining);
    if (preferred.empty())
      return keep_until_measured(candidates, surest(gaining),
                                 {Doubt::loss, "it may cost more than it is expected to gain"},
                                 verdict);
    std::optional<Doubted> first_doubt;
    const Reach reach(gains_, tuning_);
    for (const CapChoice& setting : preferred) {
      const auto doubted =
          reach.doubt(candidates.change_to(setting.index), setting.gain, kBucketsAlone);
      if (!doubted) return set(candidates, setting, best, verdict);
      if (!first_doubt) first_doubt = doubted;
    }
    return keep_until_measured(candidates, preferred.front(), *first_doubt, verdict);
  }

  Recommendation set(Candidates& candidates, const CapChoice& setting, std::size_t best,
                     Recommendation verdict) const {
    const CapCurve curve(candidates.all(), cap_holds_for_first_bucket(options_.torch));
    candidates.simulate(setting.index);
    verdict.set = true;
    verdict.bucket_cap_mb = setting.cap;
    verdict.first_bucket_mb = setting.first;
    verdict.cap_range_mb = candidates[setting.index].point.cap_range_mb;
    if (setting.cap) {
      const auto [low, high] = simulated_range(curve, candidates, setting.index);
      verdict.cap_range_mb = {curve[low].cap_range_mb.first, curve[high].cap_range_mb.second};
      if (tuning_.caps.empty()) verdict.next_worse = curve.next_worse(setting.index, measurable_);
    }
    verdict.gain = setting.gain.gain;
    verdict.expected = setting.gain.expected;
    verdict.regret = setting.gain.regret();
    verdict.python = python_of(setting);
    verdict.reason =
        why_faster(with_buckets(job_, current_buckets_), candidates.change_to(setting.index)(job_));
    const CurvePoint& fastest = candidates[best].point;
    const Duration more = candidates[setting.index].point.iteration - fastest.iteration;
    if (more >= measurable_)
      verdict.reason += fmt::format(
          "; {} is predicted to save {:.2g} ms more, but with less certainty",
          fastest.bucket_cap_mb ? fmt::format("bucket_cap_mb={:.5g}", *fastest.bucket_cap_mb)
                                : "another cap",
          more.milliseconds());
    return verdict;
  }

  static std::string python_of(const CapChoice& setting) {
    std::vector<std::string> lines;
    if (setting.first)
      lines.push_back(fmt::format("torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {}",
                                  std::llround(*setting.first * 1048576)));
    if (setting.cap)
      lines.push_back(
          fmt::format("DistributedDataParallel(model, bucket_cap_mb={})", *setting.cap));
    return lines.empty() ? "DistributedDataParallel(model)"
                         : fmt::format("{}", fmt::join(lines, "; "));
  }

  /// The verdict when no setting gains a measurable amount.
  Recommendation keep(const Candidates& candidates, std::size_t best,
                      Recommendation verdict) const {
    const Gain most = choices_.gain(candidates, best).gain;
    verdict.reason =
        contradicted() ? "the measured step contradicts its replay: another job was recorded"
        : most.value <= Duration() ? "no other bucketing is faster"
        : most.value < measurable_ ? "no other bucketing gains as much as could be measured"
                                   : "no common cap gains as much as could be measured";
    verdict.most_robust = most;
    verdict.cap_range_mb = baseline().cap_range_mb;
    return verdict;
  }

  Recommendation keep_until_measured(const Candidates& candidates, CapChoice setting,
                                     Doubted doubted, Recommendation verdict) const {
    setting.cap = choices_.least_unusual(candidates, setting);
    verdict.measure_first = measure_first(gains_, candidates.change_to(setting.index), setting.gain,
                                          std::move(doubted), measurable_);
    verdict.measure_first->bucket_cap_mb = setting.cap;
    verdict.measure_first->first_bucket_mb = setting.first;
    verdict.most_robust = setting.gain.gain;
    verdict.reason = "a gain is predicted, but " + verdict.measure_first->because;
    verdict.cap_range_mb = baseline().cap_range_mb;
    return verdict;
  }

  /// The range of caps around a point whose steps cannot be told from its own. The ends of the
  /// range, and the worse points after them, are simulated. Each pass moves an end by the remaining
  /// error of the estimates, a few points at most.
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

  void partition(const Candidates& candidates, std::size_t best, TuneResult& result) const {
    if (const std::optional<std::string> reason =
            cap_cuts(job_) ? std::optional<std::string>(kNoPartition)
                           : no_partition_because(workload_, options_.ddp().comm_hook)) {
      result.best_partition_absent_because = *reason;
      return;
    }
    std::vector<Bucket> cut = best_partition(job_);
    const Duration time = simulate_times(with_buckets(job_, cut)).iteration;
    // Seen in full, a cap's bucketing may still be faster than the cut.
    const Duration settable =
        best == kNone ? standard_.iteration : candidates[best].point.iteration;
    const bool list = has_bucket_cap_mb_list(options_.torch) &&
                      bucket_limits(options_.ddp(), options_.torch).rebuilt_from;
    if (settable > time)
      result.best_partition = {std::move(cut), time, list, false};
    else if (best == kNone)
      result.best_partition = {
          buckets_under(workload_, options_.ddp(), options_.torch,
                        default_bucketing(workload_, options_.ddp(), options_.torch).limits),
          settable, true, true};
    else
      result.best_partition = {candidates.buckets_of(best), settable, true, true};
  }

  const std::vector<Bucket> current_buckets_;
  const Gains gains_;
  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  const TuneOptions& tuning_;
  const CurvePoint standard_;
  const std::optional<CurrentBuckets> current_;
  const Duration measurable_;
  const CapChoices choices_;
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
