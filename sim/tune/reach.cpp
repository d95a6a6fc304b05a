#include "reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "scheme_of_job.hpp"
#include "setting.hpp"
#include "sync_batch_norm.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// All-reduces with less than a tenth of a step's bytes are ignored, because a tail of small
/// buckets decides nothing.
constexpr double kDecidingShare = 0.1;
/// all_reduce_perf runs 20 iterations and 5 to warm up, out of place and in place.
constexpr double kIterations = 50;
/// Time to start a job, its communicators and the tables around it.
constexpr Duration kStart = Duration::milliseconds(15'000);
/// Steps that a tuner inside the job needs to record and to try a handful of caps.
constexpr std::int64_t kStepsOfAutotune = 200;

/// The nearest older and newer minor versions that came with a PyTorch.
std::vector<NcclVersion> next_versions(NcclVersion own) {
  std::optional<NcclVersion> older;
  std::optional<NcclVersion> newer;
  const auto minor = [](NcclVersion version) { return std::pair(version.major, version.minor); };
  for (const TorchVersion torch : torch_releases()) {
    const NcclVersion other = bundled_nccl(torch);
    if (minor(other) < minor(own) && (!older || *older < other)) older = other;
    if (minor(other) > minor(own) && (!newer || other < *newer)) newer = other;
  }
  std::vector<NcclVersion> found;
  if (older) found.push_back(*older);
  if (newer) found.push_back(*newer);
  return found;
}

/// A similar cluster with the measurements of the job's own cluster.
std::shared_ptr<const Cluster> like(const Cluster& near, const Cluster& own) {
  Cluster cluster = near;
  cluster.gpu = own.gpu;
  cluster.gpu_costs = own.gpu_costs;
  cluster.calibration = own.calibration;
  cluster.gloo = own.gloo;
  return std::make_shared<const Cluster>(std::move(cluster));
}

/// Jobs that differ so little from this one that no advice should depend on the difference.
std::vector<std::pair<std::string, Job>> neighbours_of(const Job& job) {
  std::vector<std::pair<std::string, Job>> found;
  // Only the flow network models other traffic, and its links are those of this cluster.
  const auto* flow = std::get_if<FlowModel>(&job.model());
  if (flow == nullptr || flow->background->empty())
    for (const NearCluster& near : job.cluster().near) {
      Job there = job.on(like(*near.cluster, job.cluster()));
      // Groups of several nodes (a scheme's or SyncBatchNorm's) do not always divide another number
      // of nodes.
      if (!scheme_rules(there).cannot_simulate(there) && !cannot_synchronise(there))
        found.emplace_back(near.difference, std::move(there));
    }
  const AnalyticModel* own = nccl_of(job.model());
  const bool may_be_any = !job.options().possible_versions.empty();
  if (own == nullptr || may_be_any || job.cluster().gpu.vendor == GpuVendor::amd) return found;
  for (const NcclVersion version : next_versions(own->tuning.nccl)) {
    CollectiveModel model = job.model();
    nccl_of(model)->tuning.nccl = version;
    if (!can_select_algorithm(job.cluster(), nccl_of(model)->tuning)) continue;
    found.emplace_back(fmt::format("with NCCL {}", to_string(version)), job.with(std::move(model)));
  }
  return found;
}

/// Two digits, without an exponent.
std::string ms(Duration time) {
  const double ms = time.milliseconds();
  return ms < 99.5 ? fmt::format("{:.2g} ms", ms) : fmt::format("{:.0f} ms", ms);
}

/// Sizes in `after` outside the range of those in `before`, without the smallest ones that carry
/// few bytes together.
std::vector<Bytes> created(const std::vector<Bytes>& before, const std::vector<Bytes>& after) {
  if (before.empty() || after.empty()) return after;
  const auto [least, most] = std::minmax_element(before.begin(), before.end());
  double all = 0;
  double outside = 0;
  std::vector<Bytes> found;
  for (const Bytes size : after) {
    all += static_cast<double>(size.count());
    if (size >= *least && size <= *most) continue;
    outside += static_cast<double>(size.count());
    found.push_back(size);
  }
  if (outside < kDecidingShare * all) found.clear();
  return found;
}

/// The median of the sizes, weighted by bytes: half of all bytes are in messages of at most this
/// size.
Bytes middle(std::vector<Bytes> sizes) {
  std::ranges::sort(sizes);
  double all = 0;
  for (const Bytes size : sizes) all += static_cast<double>(size.count());
  double sum = 0;
  for (const Bytes size : sizes) {
    sum += static_cast<double>(size.count());
    if (2 * sum >= all) return size;
  }
  return Bytes();
}

Bytes power_of_two(Bytes size) {
  return Bytes(static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(size, Bytes(8)).count()))));
}

/// The factor on the predicted time of collectives at which the changed step saves exactly
/// `measurable`. Absent if any factor is bearable, or none.
std::optional<double> bearable_factor(const Gains& gains, const Job& after, Duration measurable) {
  constexpr double kFarthest = 16;
  constexpr int kHalvings = 20;
  const auto gains_enough = [&](double log_factor) {
    const double factor = elementary::exp(log_factor);
    const Duration step = simulate_times(with_collectives(after, factor, factor)).iteration;
    return gains.step_before() - step >= measurable;
  };
  double least = -elementary::log(kFarthest);
  double most = elementary::log(kFarthest);
  if (!gains_enough(least) || gains_enough(most)) return std::nullopt;
  for (int i = 0; i < kHalvings; ++i) {
    const double centre = (least + most) / 2;
    (gains_enough(centre) ? least : most) = centre;
  }
  return elementary::exp(least);
}

}  // namespace

Reach::Reach(const Gains& current, const TuneOptions& tuning) : job_(current.job(0)) {
  for (std::size_t reading = 0; reading < current.readings(); ++reading) {
    std::vector<std::pair<std::string, Job>> near = neighbours_of(current.job(reading));
    neighbours_.resize(near.size());
    for (std::size_t i = 0; i < near.size(); ++i) {
      neighbours_[i].difference = std::move(near[i].first);
      neighbours_[i].gains.emplace_back(near[i].second, buckets_of(near[i].second),
                                        readings_of(std::nullopt));
    }
  }
  for (Neighbour& near : neighbours_)
    near.measurable = measurable(near.gains.front().step_before(), tuning);
}

WeighedGain Reach::Neighbour::of(const Change& change, const ChangeTraits& traits) const {
  std::vector<WeighedGain> weighed;
  for (const Gains& reading : gains) weighed.push_back(reading.of(change, traits));
  return whichever(weighed);
}

std::optional<Doubted> Reach::doubt_sizes(const Change& change) const {
  std::string because =
      beyond_measured(created(all_reduce_sizes(job_), all_reduce_sizes(change(job_))), job_);
  if (because.empty()) return std::nullopt;
  return Doubted{Doubt::sizes, std::move(because)};
}

std::optional<Doubted> Reach::doubt(const Change& change, const WeighedGain& gain,
                                    const ChangeTraits& traits) const {
  if (traits.sets_buckets)
    if (auto doubted = doubt_sizes(change)) return doubted;
  for (const Neighbour& near : neighbours_) {
    const Job& job = near.gains.front().job(0);
    if (!is_possible(change(job), job)) continue;
    const WeighedGain there = near.of(change, traits);
    if (there.gain.value < near.measurable)
      return Doubted{Doubt::neighbour,
                     fmt::format("{} it would {}", near.difference,
                                 there.gain.value < Duration() ? "cost " + ms(-there.gain.value)
                                                               : "save less than can be measured")};
    if (there.regret() > bearable_regret(gain.expected, near.measurable))
      return Doubted{Doubt::neighbour,
                     fmt::format("{} it may cost up to {}", near.difference, ms(there.regret()))};
  }
  return std::nullopt;
}

MeasureFirst measure_first(const Gains& gains, const Change& change, const WeighedGain& gain,
                           Doubted doubted, Duration measurable) {
  const Job& current = gains.job(0);
  const Job after = change(current);
  const std::vector<Bytes> before_sizes = all_reduce_sizes(current);
  const std::vector<Bytes> after_sizes = all_reduce_sizes(after);
  MeasureFirst measure{
      .doubt = doubted.doubt, .because = std::move(doubted.because), .gain = gain.gain};
  measure.sizes = {power_of_two(middle(before_sizes)), power_of_two(middle(after_sizes))};
  if (!after_sizes.empty())
    measure.sizes.push_back(power_of_two(*std::ranges::max_element(after_sizes)));
  std::ranges::sort(measure.sizes);
  measure.sizes.erase(std::unique(measure.sizes.begin(), measure.sizes.end()), measure.sizes.end());
  measure.deciding = power_of_two(middle(after_sizes));
  measure.predicted = plan(after, CollectiveKind::all_reduce, measure.deciding).transfer;
  if (const auto next = measure_collectives(current, measure.sizes)) {
    measure.command = next->command;
    measure.then = next->then;
    measure.takes = kStart;
    for (const Bytes size : measure.sizes)
      measure.takes += plan(current, CollectiveKind::all_reduce, size).transfer.scaled(kIterations);
    if (const auto factor = bearable_factor(gains, after, measurable))
      measure.set_up_to = measure.predicted.scaled(*factor);
  } else {
    measure.command =
        "call ddpsim.autotune(model) in your training script, or alternate the current and the new "
        "setting with scripts/ab.py";
    measure.takes = gains.step_before() * kStepsOfAutotune;
  }
  return measure;
}

std::string_view name_of(Doubt doubt) {
  switch (doubt) {
    case Doubt::loss:
      return "loss";
    case Doubt::sizes:
      return "sizes";
    case Doubt::neighbour:
      break;
  }
  return "neighbour";
}

}  // namespace ddpsim
