#include "ddpsim/diagnose/diff/step_parts.hpp"

#include <algorithm>
#include <string>

#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

/// Two runs of one job repeat to this share, whatever the spread within one run. Medians of real
/// steps repeat to 0.5 %, nine in ten to 0.9 % on shaped links between two cores. Steps on other
/// nodes of one kind repeat to 1 % on B200.
constexpr double kRepeats = 0.01;

/// Exact to a picosecond, and within 63 bits for any number of steps.
Duration mean_of_times(const std::vector<Duration>& times) {
  const auto count = static_cast<std::int64_t>(times.size());
  std::int64_t whole = 0;
  std::int64_t rest = 0;
  for (const Duration time : times) {
    whole += time.picoseconds() / count;
    rest += time.picoseconds() % count;
  }
  return Duration::picoseconds(whole + rest / count);
}

/// Indices of the middle half by length; all indices if there are few.
std::vector<std::size_t> middle_half(const std::vector<Duration>& lengths) {
  std::vector<std::size_t> order(lengths.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  if (order.size() < kMiddleHalfFrom) return order;
  const auto quarter = static_cast<std::ptrdiff_t>(order.size() / 4);
  return {order.begin() + quarter, order.end() - quarter};
}

std::vector<Duration> chosen(const std::vector<Duration>& all,
                             const std::vector<std::size_t>& positions) {
  std::vector<Duration> some;
  some.reserve(positions.size());
  for (const std::size_t position : positions) some.push_back(all[position]);
  return some;
}

/// The uncertainty of the mean of these times. It combines their spread with the distance between
/// the first and the second half of the run, because neighbouring steps are correlated.
Duration error_of_mean(const std::vector<Duration>& times) {
  const auto spread = step_spread(times);
  if (!spread) return {};
  if (times.size() < 2 * kMiddleHalfFrom) return spread->mean_error;
  const auto half = static_cast<std::ptrdiff_t>(times.size() / 2);
  const auto middle = [](const std::vector<Duration>& of) {
    return mean_of_times(chosen(of, middle_half(of)));
  };
  const Duration drift =
      middle({times.begin(), times.begin() + half}) - middle({times.begin() + half, times.end()});
  return std::max(spread->mean_error, std::max(drift, -drift).scaled(0.5));
}

struct TimeInterval {
  Duration start;
  Duration end;
};

Duration united(std::vector<TimeInterval> intervals) {
  std::ranges::sort(intervals, {}, &TimeInterval::start);
  Duration sum;
  std::optional<Duration> reached;
  for (const TimeInterval& one : intervals) {
    const Duration start = reached ? std::max(one.start, *reached) : one.start;
    if (one.end > start) sum += one.end - start;
    reached = reached ? std::max(*reached, one.end) : one.end;
  }
  return sum;
}

bool carry_alike(const std::vector<RecordedCollective>& a,
                 const std::vector<RecordedCollective>& b) {
  return std::ranges::equal(a, b, {}, &RecordedCollective::bytes, &RecordedCollective::bytes);
}

const StepSample* sample_named(const Recorded& recorded, const std::string& name) {
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find(recorded.steps, name, &StepSample::name);
  return found == recorded.steps.end() ? nullptr : &*found;
}

/// The time after the end of backward.
struct Tail {
  Duration length;  ///< to the end of the last all-reduce
  /// How much shorter the tail would be if this rank had waited for no other.
  Duration wait;
  Duration idle;  ///< rest of the tail, nothing in flight
  Duration transfer() const { return length - wait - idle; }
};

/// When the last collective would have ended if each had begun as soon as this rank was ready.
/// Among several in flight, each adds the time by which it ended after the previous one.
Duration end_without_waits(const std::vector<RecordedCollective>& collectives,
                           const std::vector<Duration>& transfers) {
  struct One {
    Duration start;
    Duration arrival;
    Duration end;
  };
  std::vector<One> all;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const Duration end = collectives[i].start + collectives[i].duration;
    all.push_back(
        {collectives[i].start, end - std::min(transfers[i], collectives[i].duration), end});
  }
  std::ranges::stable_sort(all, {}, &One::end);
  std::optional<Duration> ended, without;
  for (const One& one : all) {
    const Duration served = one.end - (ended ? std::max(one.arrival, *ended) : one.arrival);
    const Duration begun = without ? std::max(one.start, *without) : one.start;
    without = begun + std::max(served, Duration());
    ended = one.end;
  }
  return without.value_or(Duration());
}

/// `transfers`: the transfer of each collective, if there are several ranks. Empty for a single
/// rank.
Tail tail_of(const std::vector<RecordedCollective>& collectives, Duration backward,
             const std::vector<Duration>& transfers) {
  Tail tail;
  std::vector<TimeInterval> in_flight;
  Duration end = backward;
  for (const RecordedCollective& one : collectives) {
    const Duration finish = one.start + one.duration;
    end = std::max(end, finish);
    if (finish > backward) in_flight.push_back({std::max(one.start, backward), finish});
  }
  tail.length = end - backward;
  if (transfers.size() == collectives.size() && !collectives.empty())
    tail.wait =
        std::clamp(end - end_without_waits(collectives, transfers), Duration(), tail.length);
  tail.idle = std::min(tail.length - united(std::move(in_flight)), tail.length - tail.wait);
  return tail;
}

class Breakdown {
 public:
  Breakdown(const Workload& workload, const Recorded& recorded, std::size_t position)
      : workload_(workload), recorded_(recorded), position_(position) {}

  std::optional<StepBreakdown> take();

 private:
  void choose_windows();
  void fill_tail();
  void fill_windows();
  void fill_between();
  void fill_earlier(const EarlierMicroBatches& earlier);
  void fill_bounds();
  Duration share(Duration part, Duration window, Duration of) const {
    return window <= Duration() ? Duration() : part.scaled(of / window);
  }
  void set(StepPart part, Duration time) {
    result_[part].time += time;
    result_[part].known = true;
  }
  void set(LossCause cause, Duration time) { set(part_of(cause), time); }
  /// Symmetric error, until fill_bounds turns it into an interval.
  void set_error(StepPart part, Duration error) { result_[part].high = error; }

  const Workload& workload_;
  const Recorded& recorded_;
  const std::size_t position_;
  std::vector<const StepSample*> windows_;  ///< the steps that are averaged
  Duration forward_, backward_, optimizer_;
  bool several_ = false;  ///< several ranks: waits and transfers are distinct
  StepBreakdown result_;
};

std::optional<StepBreakdown> Breakdown::take() {
  if (!recorded_.forward && !recorded_.backward && !recorded_.iteration) return std::nullopt;
  std::vector<Duration> periods;
  for (const StepSample& step : recorded_.steps)
    if (step.iteration) periods.push_back(*step.iteration);
  if (periods.empty() && recorded_.iteration) periods.push_back(*recorded_.iteration);
  result_.steps = periods.size();
  choose_windows();
  optimizer_ = recorded_.optimizer.value_or(Duration());
  fill_windows();
  fill_tail();
  if (periods.empty()) {
    Duration sum;
    for (const PartTime& part : result_.parts) sum += part.time;
    result_.step = sum;
    result_[LossCause::unexplained].known = true;
  } else {
    result_.step = mean_of_times(chosen(periods, middle_half(periods)));
    result_.error = error_of_mean(periods);
    fill_between();
  }
  if (recorded_.earlier) fill_earlier(*recorded_.earlier);
  // Windows without parts count as the kernels of one GPU, so the parts of a table or an estimate
  // are known too.
  result_.parts_known = recorded_.backward.has_value();
  if (!result_.parts_known) {
    StepBreakdown alone{.step = result_.step, .error = result_.error, .steps = result_.steps};
    alone[LossCause::unexplained] = {.time = result_.step, .known = true};
    result_ = alone;
  }
  fill_bounds();
  return result_;
}

/// Chooses steps with known windows: the middle half by the period if it is known, else by forward
/// and backward.
void Breakdown::choose_windows() {
  std::vector<const StepSample*> seen;
  bool periods = true;
  for (const StepSample& step : recorded_.steps)
    if (step.backward) {
      seen.push_back(&step);
      periods = periods && step.iteration.has_value();
    }
  std::vector<Duration> lengths;
  for (const StepSample* step : seen)
    lengths.push_back(periods ? *step->iteration
                              : step->forward.value_or(Duration()) + *step->backward);
  for (const std::size_t position : middle_half(lengths)) windows_.push_back(seen[position]);
  const auto mean = [&](std::optional<Duration> StepSample::*window,
                        std::optional<Duration> otherwise) {
    std::vector<Duration> times;
    for (const StepSample* step : windows_)
      if (step->*window) times.push_back(*(step->*window));
    if (!otherwise) return Duration();
    return times.size() == windows_.size() && !times.empty() ? mean_of_times(times) : *otherwise;
  };
  forward_ = mean(&StepSample::forward, recorded_.forward);
  backward_ = mean(&StepSample::backward,
                   recorded_.backward ? std::optional(recorded_.backward->duration) : std::nullopt);
}

/// Forward, backward and optimizer: separates launches, copies and the broadcast; the rest is
/// kernels.
void Breakdown::fill_windows() {
  const Duration of_forward = recorded_.forward.value_or(Duration());
  const Duration of_backward = recorded_.backward ? recorded_.backward->duration : Duration();
  const RecordedWith& with = recorded_.recorded_with;

  const Duration broadcast =
      std::min(share(with.buffer_broadcast.value_or(Duration()), of_forward, forward_), forward_);
  set(LossCause::buffer_broadcast, broadcast);

  std::vector<TimeInterval> copying;
  if (recorded_.backward)
    for (const ReadyEvent& event : recorded_.backward->ready)
      if (event.copied_at) copying.push_back({event.at, *event.copied_at});
  Duration copies = std::min(share(united(std::move(copying)), of_backward, backward_), backward_);

  PartTimes waits{.forward = share(recorded_.launch_waits.forward, of_forward, forward_),
                  .backward = share(recorded_.launch_waits.backward, of_backward, backward_),
                  .optimizer = recorded_.launch_waits.optimizer};
  waits.forward = std::min(waits.forward, forward_ - broadcast);
  waits.backward = std::min(waits.backward, backward_);
  // Gaps between copies belong to the host.
  copies = std::min(copies, backward_ - waits.backward);
  set(LossCause::copies, copies);
  if (recorded_.busy)
    set(LossCause::launch_bound, waits.forward + waits.backward + waits.optimizer);
  else
    waits = {};

  result_.kernels = {.forward = forward_ - broadcast - waits.forward,
                     .backward = backward_ - copies - waits.backward,
                     .optimizer = optimizer_ - waits.optimizer};
  if (recorded_.busy) {
    // The GPU was idle without waiting for a launch: it waited for another stream, usually a
    // collective that is not DDP's.
    const auto idle = [&](Duration& kernels, Duration busy, Duration other) {
      const Duration still =
          std::clamp(kernels - std::max(busy - other, Duration()), Duration(), kernels);
      kernels -= still;
      set(with.sync_batchnorm ? LossCause::sync_batchnorm : LossCause::unexplained, still);
    };
    idle(result_.kernels.forward, share(recorded_.busy->forward, of_forward, forward_), Duration());
    idle(result_.kernels.backward, share(recorded_.busy->backward, of_backward, backward_), copies);
  }
  std::vector<Duration> windows;
  for (const StepSample& step : recorded_.steps)
    if (step.backward) windows.push_back(step.forward.value_or(Duration()) + *step.backward);
  set_error(StepPart::kernels, error_of_mean(windows));
  set(StepPart::kernels,
      result_.kernels.forward + result_.kernels.backward + result_.kernels.optimizer);
}

void Breakdown::fill_tail() {
  const RecordedWith& with = recorded_.recorded_with;
  set(LossCause::copies, with.finalize.value_or(Duration()));
  const std::vector<RankCollectiveTimes> all = workload_.ranks.size() > 1
                                                   ? rank_collective_times(workload_)
                                                   : std::vector<RankCollectiveTimes>();
  several_ = !all.empty();
  // Transfers of each step that all ranks recorded, in step order.
  const auto transfers_of = [&](std::size_t step) {
    std::vector<Duration> transfers;
    for (const RankCollectiveTimes& one : all)
      if (one.step == step) transfers.push_back(one.transfer());
    return transfers;
  };
  std::vector<Duration> lengths, transfers, waits;
  std::size_t step = 0;
  const auto add = [&](const std::vector<RecordedCollective>& collectives, Duration backward) {
    const Tail tail = tail_of(collectives, backward, transfers_of(step++));
    lengths.push_back(tail.length);
    transfers.push_back(tail.transfer());
    waits.push_back(tail.wait);
  };
  if (several_) {
    // The steps that all ranks share are those that rank_collective_times counts.
    for (const StepSample& sample : workload_.steps) {
      if (!carry_alike(sample.collectives, workload_.recorded_with.collectives)) continue;
      const bool shared = std::ranges::all_of(workload_.ranks, [&](const RankRecording& rank) {
        const StepSample* own = sample_named(rank, sample.name);
        return own != nullptr && carry_alike(own->collectives, sample.collectives);
      });
      if (!shared) continue;
      const StepSample* own = sample_named(recorded_, sample.name);
      add(own->collectives, own->backward.value_or(backward_));
    }
    if (lengths.empty())
      add(with.collectives, recorded_.backward ? recorded_.backward->duration : backward_);
  } else {
    for (const StepSample* sample : windows_)
      if (!sample->collectives.empty()) add(sample->collectives, *sample->backward);
    if (lengths.empty() && !with.collectives.empty())
      add(with.collectives, recorded_.backward ? recorded_.backward->duration : backward_);
  }
  const bool is_several = with.several_ranks();
  if (lengths.empty()) {
    if (!is_several) {
      set(StepPart::all_reduce_transfer, Duration());
      set(LossCause::slowest_gpu, Duration());
      return set(LossCause::copies, with.exposed.value_or(Duration()));
    }
    if (!with.exposed) return;
    result_[StepPart::all_reduce_transfer].bound = Bound::upper;
    set(StepPart::all_reduce_transfer, *with.exposed);
    set(LossCause::slowest_gpu, Duration());
    return;
  }
  const std::vector<std::size_t> middle = middle_half(lengths);
  const Duration length = mean_of_times(chosen(lengths, middle));
  const Duration transfer = mean_of_times(chosen(transfers, middle));
  const Duration wait = mean_of_times(chosen(waits, middle));
  set_error(StepPart::all_reduce_transfer, error_of_mean(transfers));
  set_error(part_of(LossCause::slowest_gpu), error_of_mean(waits));
  set(StepPart::all_reduce_transfer, transfer);
  set(LossCause::slowest_gpu, wait);
  set(LossCause::hooks, length - transfer - wait);
  // The recorder's tail includes the copies out, which follow the last all-reduce.
  if (with.exposed && recorded_.backward && !with.collectives.empty()) {
    const Duration seen = tail_of(with.collectives, recorded_.backward->duration, {}).length;
    if (*with.exposed > seen) set(LossCause::copies, *with.exposed - seen);
  }
  if (!several_ && is_several) result_[StepPart::all_reduce_transfer].bound = Bound::upper;
  if (several_ && !all_ranks_there(workload_))
    result_[StepPart::all_reduce_transfer].bound = Bound::upper;
  if (!several_) return;
  std::vector<double> caused(workload_.ranks.size());
  for (const RankCollectiveTimes& one : all)
    caused[one.last()] += one.waits()[position_].microseconds();
  const auto most = std::ranges::max_element(caused);
  if (*most > 0)
    result_.waited_for = workload_.ranks[static_cast<std::size_t>(most - caused.begin())].rank;
}

/// The pause between steps. It is negative if steps overlap; then nothing between them is input.
void Breakdown::fill_between() {
  Duration sum;
  for (const PartTime& part : result_.parts) sum += part.time;
  const Duration pause = result_.step - sum;
  result_.pause.rest_is = part_of(recorded_.busy && pause > Duration() ? LossCause::launch_bound
                                                                       : LossCause::unexplained);
  if (pause < Duration()) {
    result_.pause.rest = pause;
  } else if (recorded_.data_loading) {
    result_.pause.input = std::min(pause, recorded_.data_loading->mean);
    result_.pause.rest = pause - result_.pause.input;
  } else {
    result_.pause.input = pause;
    result_[LossCause::input].bound = Bound::upper;
  }
  set(LossCause::input, result_.pause.input);
  set_error(part_of(LossCause::input), result_.error);
  set(result_.pause.rest_is, result_.pause.rest);
  // What windows of other steps leave of a step's mean is only known as well as both together.
  set_error(result_.pause.rest_is, result_.error + result_[StepPart::kernels].high);
  result_[LossCause::unexplained].known = true;
}

/// Micro-batches before the recorded one: their waits for all-reduces may be transfers.
void Breakdown::fill_earlier(const EarlierMicroBatches& earlier) {
  result_.step += earlier.compute + earlier.exposed;
  set(StepPart::kernels, earlier.compute);
  const double forward = forward_ / std::max(forward_ + backward_, Duration::picoseconds(1));
  result_.kernels.forward += earlier.compute.scaled(forward);
  result_.kernels.backward += earlier.compute - earlier.compute.scaled(forward);
  if (earlier.exposed == Duration()) return;
  set(StepPart::all_reduce_transfer, earlier.exposed);
  result_[StepPart::all_reduce_transfer].bound = Bound::upper;
}

void Breakdown::fill_bounds() {
  Duration sum;
  for (PartTime& part : result_.parts) {
    const Duration error = std::max(part.high, std::max(part.time, -part.time).scaled(kRepeats));
    part.low = part.time - error;
    part.high = part.time + error;
    sum += part.time;
    if (part.bound == Bound::upper) part.low = std::min(part.low, Duration());
  }
  result_.error = std::max(result_.error, result_.step.scaled(kRepeats));
  DDPSIM_ASSERT(sum == result_.step, "parts of a step add up", sum, result_.step);
  PartTime& transfer = result_[StepPart::all_reduce_transfer];
  PartTime& wait = result_[LossCause::slowest_gpu];
  if (transfer.bound == Bound::upper && wait.known) {
    wait.bound = Bound::lower;
    wait.high += transfer.time;
  }
}

}  // namespace

std::string_view name_of(StepPart part) {
  if (part == StepPart::kernels) return "kernels";
  if (part == StepPart::all_reduce_transfer) return "all_reduce_transfer";
  return name_of(static_cast<LossCause>(index_of(part) - index_of(StepPart::first_cause)));
}

Duration RankCollectiveTimes::transfer() const {
  return *std::ranges::min_element(durations);
}

std::size_t RankCollectiveTimes::last() const {
  return static_cast<std::size_t>(std::ranges::min_element(durations) - durations.begin());
}

std::vector<Duration> RankCollectiveTimes::waits() const {
  std::vector<Duration> waits;
  waits.reserve(durations.size());
  for (const Duration duration : durations) waits.push_back(duration - transfer());
  return waits;
}

bool all_ranks_there(const Workload& workload) {
  return workload.ranks.size() > 1 &&
         workload.ranks.size() == static_cast<std::size_t>(workload.recorded_with.world_size);
}

std::vector<RankCollectiveTimes> rank_collective_times(const Workload& workload) {
  std::vector<RankCollectiveTimes> all;
  if (workload.ranks.size() < 2) return all;
  const std::vector<RecordedCollective>& like = workload.recorded_with.collectives;
  std::size_t step = 0;
  const auto add = [&](const std::vector<const std::vector<RecordedCollective>*>& by_rank) {
    for (std::size_t i = 0; i < like.size(); ++i) {
      RankCollectiveTimes one{.step = step, .starts = {}, .durations = {}};
      for (const std::vector<RecordedCollective>* rank : by_rank) {
        one.starts.push_back((*rank)[i].start);
        one.durations.push_back((*rank)[i].duration);
      }
      all.push_back(std::move(one));
    }
    ++step;
  };
  for (const StepSample& sample : workload.steps) {
    if (!carry_alike(sample.collectives, like)) continue;
    std::vector<const std::vector<RecordedCollective>*> by_rank;
    for (const RankRecording& rank : workload.ranks) {
      const StepSample* own = sample_named(rank, sample.name);
      if (own != nullptr && carry_alike(own->collectives, like))
        by_rank.push_back(&own->collectives);
    }
    if (by_rank.size() == workload.ranks.size()) add(by_rank);
  }
  if (all.empty()) {
    std::vector<const std::vector<RecordedCollective>*> by_rank;
    for (const RankRecording& rank : workload.ranks)
      if (carry_alike(rank.recorded_with.collectives, like))
        by_rank.push_back(&rank.recorded_with.collectives);
    if (by_rank.size() == workload.ranks.size()) add(by_rank);
  }
  return all;
}

std::optional<StepBreakdown> step_breakdown(const Workload& workload, std::size_t rank) {
  if (workload.ranks.empty()) return Breakdown(workload, workload, 0).take();
  return Breakdown(workload, workload.ranks.at(rank), rank).take();
}

StepBreakdown with_unprofiled(StepBreakdown breakdown, const std::vector<Duration>& steps) {
  const StepBreakdown timed = step_alone(steps);
  const Duration beyond = timed.step - breakdown.step;
  PartTime& unexplained = breakdown[LossCause::unexplained];
  unexplained.known = true;
  unexplained.time += beyond;
  unexplained.low += beyond;
  unexplained.high += beyond;
  breakdown.step = timed.step;
  breakdown.error = timed.error;
  breakdown.steps = timed.steps;
  breakdown.pause.rest_is = part_of(LossCause::unexplained);
  return breakdown;
}

StepBreakdown step_alone(const std::vector<Duration>& steps) {
  StepBreakdown result{
      .step = mean_of_times(chosen(steps, middle_half(steps))), .error = {}, .steps = steps.size()};
  result.error = std::max(error_of_mean(steps), result.step.scaled(kRepeats));
  result[LossCause::unexplained] = {.time = result.step,
                                    .low = result.step - result.error,
                                    .high = result.step + result.error,
                                    .known = true};
  return result;
}

}  // namespace ddpsim
