// The streams of one rank class while their programs are written, and how they hand over to each
// other.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/step/compute_speed.hpp"
#include "ddpsim/sim/values/launch_cost.hpp"
#include "operations.hpp"
#include "planned_step.hpp"
#include "rank_classes.hpp"
#include "step_collectives.hpp"

namespace ddpsim {

class RankStreams {
 public:
  /// Reserves space for `gradients` gradients and `rooms` collectives. Precondition: job and
  /// collectives outlive it.
  RankStreams(const Job& job, const StepCollectives& collectives, const StepKind& kind,
              const RankClass& rank_class, std::size_t gradients, std::size_t rooms)
      : job_(job),
        collectives_(collectives),
        costs_(job.options().costs),
        host_lead_(kind.host_lead),
        launch_cost_(launch_cost(launches_of(job, rank_class), job.options()).each),
        recorded_launch_cost_(launches_of(job, rank_class).cost.value_or(launch_cost_)),
        host_computes_(KernelCosts(job).on_host() &&
                       !recorded_by(job.workload(), rank_class.rank).recorded_with.ddp_hooks),
        in_intervals_(kind.detail == Detail::none ||
                      (kind.detail == Detail::those_of_rank_0 && rank_class.rank > 0)),
        times_as_long_(1 /
                       (compute_speed(job) / (rank_class.state ? rank_class.state->slowdown : 1))) {
    programs_.rank = rank_class.rank;
    // A plain step has a gradient, a wait for a slow host and a copy, and a few operations around
    // each collective.
    const std::size_t around = 6 * (rooms + 1);
    programs_.compute.reserve((in_intervals_ ? 0 : 3 * gradients) + around);
    programs_.host.reserve(around);
    programs_.communication.reserve(around);
    start_at_offset(rank_class);
  }

  /// Start of the ranks' forward pass, or of their host thread if that starts earlier, on the
  /// schedule's clock.
  Duration start() const { return start_ - host_lead_.value_or(ahead_); }
  const HostTime& host_time() const { return host_time_; }
  /// Whether the GPU waits for each launch of the host.
  bool waits_for_launches() const { return host_lead_.has_value(); }
  /// Whether compute is written as intervals, so that no gradient is an operation of its own.
  bool in_intervals() const { return in_intervals_; }
  Duration copies_in_intervals() const { return copies_in_intervals_; }
  /// The GPU's recorded waits for launches, while launches are not simulated.
  Duration recorded_waits() const { return recorded_waits_; }
  /// Whether gradients live on the host and were recorded without DDP. The thread that computes
  /// then does everything else, too.
  bool host_computes() const { return host_computes_; }
  RankPrograms take() { return std::move(programs_); }
  std::vector<AwaitedEvents> take_awaited() { return std::move(awaited_); }
  std::size_t host_operations() const { return programs_.host.size(); }
  std::size_t last_on_compute() const {
    return programs_.compute.empty() ? 0 : programs_.compute.size() - 1;
  }

  /// Converts a time on the GPU recorded on to this one.
  Duration scaled(Duration recorded) const {
    return times_as_long_ == 1 ? recorded : recorded.scaled(times_as_long_);
  }

  /// Adds host work. A host that computes (host_computes()) follows its own compute instead of
  /// running ahead, and the time then counts as `computed`. For a backward recorded under DDP, the
  /// host's work for DDP is already part of it.
  void host(OperationKind purpose, Duration duration, std::int32_t bucket = -1,
            OperationKind computed = OperationKind::copy_in) {
    host_time_.step += duration;
    if (!host_computes_) return work_on_host(purpose, duration, bucket);
    compute(computed, duration, bucket);
    hold_host(purpose, record(programs_.compute, computed), Duration());
  }
  /// Adds launches of kernels to the host. Later launches wait behind them. If the host is far
  /// ahead of the GPU, only their host time is counted.
  void launch(OperationKind purpose, Duration each, std::int64_t kernels) {
    host_time_.step += each * kernels;
    if (waits_for_launches()) work_on_host(purpose, each * kernels);
  }
  /// Notes kernels that one GPU alone would launch here.
  void note_kernels(OperationKind purpose, std::int64_t kernels) {
    host_time_.model += launch_cost_of(purpose) * kernels;
    host_sooner_ += saved_on(purpose) * kernels;
  }
  /// How much less time the host's launches took so far than recorded.
  Duration host_sooner() const { return host_sooner_; }
  /// Adds the GPU's recorded wait for launches before work that took `work` on the GPU. A host is
  /// no faster with a faster GPU. If the GPU takes longer, or a launch less, the host catches up by
  /// that time.
  void wait_as_recorded(OperationKind purpose, std::int64_t kernels, Duration work,
                        Duration waited) {
    if (waits_for_launches() || waited <= Duration()) return;
    const Duration recorded = part_of(recorded_launch_cost_, purpose);
    Duration sooner = saved_on(purpose) * kernels;
    if (kernels == 0 && recorded > Duration())  // not counted
      sooner = waited.scaled(saved_on(purpose) / recorded);
    const Duration longer = std::max(scaled(work) - work, Duration());
    wait_for_host(purpose, waited - longer - sooner);
  }
  /// Holds the next gradient until the host has launched it. The host does so `since_start` after
  /// the start of the step.
  void hold_gradient_until(Duration since_start) {
    if (waits_for_launches() || since_start <= alone_) return;  // cannot be written sooner
    constexpr auto purpose = OperationKind::backward;
    append_wait_until(programs_.compute, purpose, start_ + since_start);
    note_wait(since_start - alone_);
  }
  /// Adds `kernels` kernels of the model, which take `work` together. The first one runs when it
  /// has been launched, the last one not before its launch. The threads of one interpreter launch
  /// the kernels of `gpus` GPUs in turn.
  void launched(OperationKind purpose, std::int64_t kernels, Duration work,
                std::int32_t bucket = -1, int gpus = 1) {
    note_kernels(purpose, kernels);
    const auto launch_and_wait = [&](std::int64_t count) {
      launch(purpose, launch_cost_of(purpose) * gpus, count);
      if (waits_for_launches()) hold_for_last_launch(purpose);
    };
    const Duration last = kernels > 1 ? work.scaled(1.0 / static_cast<double>(kernels)) : work;
    if (kernels > 0) launch_and_wait(1);
    compute(purpose, work - last, bucket);
    if (kernels > 1) launch_and_wait(kernels - 1);
    compute(purpose, last, bucket);
  }
  void compute(OperationKind purpose, Duration duration, std::int32_t bucket = -1) {
    if (duration <= Duration()) return;
    if (!in_intervals_ || !goes_on(purpose, duration))
      append_work(programs_.compute, purpose, duration, bucket);
    alone_ += duration;
    compute_at_least_ += duration;
  }

  /// Adds kernels of a communication hook, which the host takes `launching` to launch. The last one
  /// does not run before that.
  void launched_by_hook(const std::vector<Duration>& kernels, Duration launching,
                        std::int32_t bucket) {
    constexpr auto purpose = OperationKind::comm_hook;
    if (kernels.empty()) return;
    for (std::size_t k = 0; k + 1 < kernels.size(); ++k) compute(purpose, kernels[k], bucket);
    host(OperationKind::launch, launching, bucket);
    hold_compute(purpose, record_on_host(OperationKind::launch), costs_.launch_latency);
    compute(purpose, kernels.back(), bucket);
  }

  /// `since_start` counts from the start of the step.
  void hold_host_until(Duration since_start, OperationKind purpose, std::int32_t bucket) {
    hold_host_at(std::max(start_ + since_start, start_), purpose, bucket);
  }
  /// Makes the host wait for work of the GPU in an earlier step. `since_start` counts from the
  /// start of this step and is negative.
  void hold_host_for(Duration since_start) {
    hold_host_at(start_ + since_start + costs_.event_latency, OperationKind::launch);
  }
  void hold_compute(OperationKind purpose, EventId event, Duration latency) {
    append_wait(programs_.compute, purpose, event, latency);
  }
  void hold_compute(OperationKind purpose, EventId event) {
    hold_compute(purpose, event, costs_.event_latency);
  }

  EventId record_on_host(OperationKind purpose) { return record(programs_.host, purpose); }
  EventId record_on_compute(OperationKind purpose) { return record(programs_.compute, purpose); }
  /// Lets the host begin `lead` before the compute stream, unless launches are simulated. Called
  /// before anything else.
  void begin_ahead(Duration lead) {
    if (waits_for_launches()) return;
    ahead_ = lead;
    if (programs_.compute.empty())
      append_wait_until(programs_.compute, OperationKind::forward, start_);
    hold_host_at(start(), OperationKind::forward);
  }
  /// Makes the host wait until the GPU has reached the event.
  void hold_host(OperationKind purpose, EventId event) {
    hold_host(purpose, event, costs_.event_latency);
  }

  /// A side stream: the communicator's, which always exists, or one of those opened.
  class SideStream {
   public:
    SideStream() = default;

   private:
    friend class RankStreams;
    explicit SideStream(std::size_t other) : other_(other) {}
    std::optional<std::size_t> other_;  ///< index into RankPrograms::others
  };
  SideStream open() {
    programs_.others.emplace_back();
    return SideStream(programs_.others.size() - 1);
  }
  void work_on(SideStream stream, OperationKind purpose, Duration duration) {
    append_work(program_of(stream), purpose, duration);
  }
  void hold_on(SideStream stream, OperationKind purpose, EventId event) {
    append_wait(program_of(stream), purpose, event, costs_.event_latency);
  }
  EventId record_on(SideStream stream, OperationKind purpose) {
    return record(program_of(stream), purpose);
  }
  /// Continues `stream` after `event` at no cost: one CUDA stream is modelled as two.
  void follow_on(SideStream stream, OperationKind purpose, EventId event) {
    append_wait(program_of(stream), purpose, event, Duration());
  }
  /// Makes `stream` wait for a launch of the host at this point.
  void hold_for_launch(SideStream stream, OperationKind purpose) {
    append_wait(program_of(stream), purpose, record_on_host(OperationKind::launch),
                costs_.launch_latency);
  }
  /// How a collective learns that its input is there: its stream waits for an event, or the input
  /// was computed on that same stream.
  enum class Behind { event, own_stream };
  /// Launches a collective, for which the host takes `launching`. It begins when all of `ready`
  /// have been reached and everything before it on its stream has ended. Returns the event of its
  /// end.
  EventId launch_on(SideStream stream, OperationKind purpose, std::uint32_t index,
                    std::vector<EventId> ready, Duration launching, std::int32_t label,
                    Behind behind = Behind::event) {
    host(OperationKind::launch, launching, label,
         purpose == OperationKind::broadcast ? purpose : OperationKind::copy_in);
    return launch_after(record_on_host(OperationKind::launch), stream, purpose, index,
                        std::move(ready), label, behind);
  }
  /// Adds a collective that the host has already launched; `launched` is the event of that launch.
  EventId launch_after(EventId launched, SideStream stream, OperationKind purpose,
                       std::uint32_t index, std::vector<EventId> ready, std::int32_t label,
                       Behind behind = Behind::event) {
    Program& program = program_of(stream);
    append_wait(program, purpose, launched, costs_.launch_latency);
    const Duration latency = behind == Behind::event ? costs_.event_latency : Duration();
    for (const EventId event : ready)
      append_wait(program, purpose, event, latency + collectives_[index].to_host);
    append_collective(program, purpose, index, label);
    if (awaited_.size() <= index) awaited_.resize(index + 1);
    awaited_[index] = {.launched = launched, .ready = std::move(ready)};
    return record(program, purpose);
  }
  /// Makes the compute stream wait for the end of a collective.
  void hold_compute_for(OperationKind purpose, EventId done, std::uint32_t index) {
    append_wait(programs_.compute, purpose, done, costs_.event_latency + to_device(index), index);
  }

  /// Adds a collective that does not begin before host and compute stream have reached this point.
  /// Returns the event of its end.
  EventId collective(OperationKind purpose, std::uint32_t index, std::int32_t bucket = -1) {
    const EventId launched = record_on_host(OperationKind::launch);
    const EventId filled = record(programs_.compute, OperationKind::copy_in);
    append_wait(programs_.communication, purpose, launched, costs_.launch_latency);
    note_awaited(index, launched, filled);
    return run(programs_.communication, purpose, index, filled, bucket);
  }

  /// Adds a collective that the compute stream waits for.
  void blocking_collective(OperationKind purpose, std::uint32_t index, Duration return_latency) {
    const EventId filled = record(programs_.compute, purpose);
    note_awaited(index, filled, filled);
    const EventId done = run(programs_.communication, purpose, index, filled, -1);
    hold_compute(purpose, done, return_latency + to_device(index));
  }

  /// Adds a bucket's all-reduce that the compute stream waits for in the middle of backward.
  void collective_and_wait(std::uint32_t index, std::int32_t bucket) {
    constexpr auto purpose = OperationKind::all_reduce;
    hold_compute_for(purpose, collective(purpose, index, bucket), index);
  }

  /// Adds a wait of the host for the compute stream, which then idles until the host has launched
  /// more: `time` in total. That launch takes `launch` of it.
  void round_trip(OperationKind purpose, Duration time, Duration launch) {
    const EventId there = record(programs_.compute, purpose);
    hold_host(purpose, there, std::max(time - launch - costs_.launch_latency, Duration()));
    // If launches are simulated, the next kernel waits for its own launch.
    hold_compute(purpose, there, waits_for_launches() ? std::max(time - launch, Duration()) : time);
  }
  /// Adds a kernel that runs as soon as the host has launched it.
  void launched_alone(OperationKind purpose, Duration launch, Duration work, std::int32_t bucket) {
    host(purpose, launch, bucket);
    hold_compute(purpose, record_on_host(purpose), costs_.launch_latency);
    compute(purpose, work, bucket);
  }

  /// Makes the host wait until the compute stream has done everything so far.
  void wait_for_device() {
    hold_host(OperationKind::launch, record(programs_.compute, OperationKind::comm_hook));
  }

  /// Adds a collective that the host launches after `kernels` small kernels, and whose result the
  /// compute stream needs. If SyncBatchNorm has process groups of its own, it runs on a stream of
  /// its own, because ProcessGroupNCCL has one per communicator.
  void exchange(std::uint32_t statistics, int kernels) {
    constexpr auto purpose = OperationKind::sync_batch_norm;
    Program& stream = job_.options().ddp().sync_batchnorm_group ? apart() : programs_.communication;
    host(OperationKind::launch, costs_.host_hook_kernel * kernels + costs_.host_launch);
    const EventId launched = record_on_host(OperationKind::launch);
    append_wait(stream, purpose, launched, costs_.launch_latency);
    const EventId filled = record(programs_.compute, purpose);
    note_awaited(statistics, launched, filled);
    const EventId done = run(stream, purpose, statistics, filled, -1);
    hold_compute(purpose, done, costs_.event_latency + to_device(statistics));
  }

  /// Makes the host wait for the compute stream, which idles until the host has launched more:
  /// `times` round trips, then `kernels` small kernels.
  void read_on_host(int times, int kernels) {
    constexpr auto purpose = OperationKind::sync_batch_norm;
    hold_host(purpose, record(programs_.compute, purpose),
              (costs_.launch_latency + costs_.host_launch) * times);
    host(OperationKind::launch, costs_.host_hook_kernel * kernels);
    hold_compute(purpose, record_on_host(purpose), Duration());
  }

  /// Adds a collective whose result the host reads at once. Neither the host nor the compute stream
  /// continues before that.
  void reduce_and_read(OperationKind purpose, std::uint32_t index) {
    host(OperationKind::launch, costs_.host_launch);
    hold_compute(purpose, collective(purpose, index), costs_.event_latency + to_device(index));
    read(purpose);
  }
  void read(OperationKind purpose) {
    hold_host(purpose, record(programs_.compute, purpose),
              costs_.launch_latency + costs_.host_launch);
    hold_compute(purpose, record_on_host(purpose), Duration());
  }

 private:
  static bool is_copy_in(OperationKind purpose) {
    return purpose == OperationKind::copy_in || purpose == OperationKind::comm_hook;
  }
  /// Adds work to the last interval, if it has the same purpose, or if both are backward and its
  /// copies. Returns false otherwise.
  bool goes_on(OperationKind purpose, Duration duration) {
    if (programs_.compute.empty() || programs_.compute.back().action != Action::work) return false;
    Operation& interval = programs_.compute.back();
    if (interval.purpose != purpose) {
      if (is_copy_in(interval.purpose) && purpose == OperationKind::backward)
        copies_in_intervals_ += interval.duration;
      else if (is_copy_in(purpose) && interval.purpose == OperationKind::backward)
        copies_in_intervals_ += duration;
      else
        return false;
      interval.purpose = OperationKind::backward;
    }
    interval.duration += duration;
    return true;
  }
  /// Sets the start of a rank's forward. The ranks of one job do not begin their forwards together:
  /// data loading and the work after the last all-reduce differ, and no rank waits for another in
  /// between.
  void start_at_offset(const RankClass& rank_class) {
    if (!rank_class.state && !rank_class.recording && !host_lead_) return;
    if (rank_class.state)
      start_ = rank_class.state->start;
    else if (rank_class.recording)
      start_ = scaled(job_.workload().ranks[*rank_class.recording].offset);
    host_at_ = start();
    hold_host_at(start(), OperationKind::forward);
    append_wait_until(programs_.compute, OperationKind::forward, start_);
    compute_at_least_ = start_;
  }
  Duration launch_cost_of(OperationKind purpose) const { return part_of(launch_cost_, purpose); }
  /// Adds host work. In intervals, it extends the work before.
  void work_on_host(OperationKind purpose, Duration duration, std::int32_t bucket = -1) {
    if (host_at_) *host_at_ += duration;
    Program& host = programs_.host;
    if (in_intervals_ && !host.empty() && host.back().action == Action::work)
      host.back().duration += duration;
    else
      append_work(host, purpose, duration, bucket);
  }
  void hold_host(OperationKind purpose, EventId event, Duration latency) {
    append_wait(programs_.host, purpose, event, latency);
    host_at_.reset();
  }
  void hold_host_at(Duration time, OperationKind purpose, std::int32_t bucket = -1) {
    append_wait_until(programs_.host, purpose, time, bucket);
    if (host_at_) host_at_ = std::max(*host_at_, time);
  }
  /// Makes the compute stream wait for what the host launched last. In intervals, no wait is
  /// written that cannot take time, because the host has launched before the GPU can be here.
  void hold_for_last_launch(OperationKind purpose) {
    if (host_at_) {
      const Duration launched = *host_at_ + costs_.launch_latency;
      if (in_intervals_ && launched <= compute_at_least_) return;
      compute_at_least_ = std::max(compute_at_least_, launched);
    }
    hold_compute(purpose, record_on_host(purpose), costs_.launch_latency);
  }
  void wait_for_host(OperationKind purpose, Duration time) {
    if (time <= Duration()) return;
    note_wait(time);
    hold_compute(purpose, record(programs_.compute, purpose), time);
  }
  void note_wait(Duration time) {
    if (time <= Duration()) return;
    recorded_waits_ += time;
    alone_ += time;
  }
  Duration saved_on(OperationKind purpose) const {
    return std::max(part_of(recorded_launch_cost_, purpose) - launch_cost_of(purpose), Duration());
  }
  static Launches launches_of(const Job& job, const RankClass& rank_class) {
    return recorded_by(job.workload(), rank_class.rank).launches.value_or(Launches());
  }
  static Duration part_of(const PartTimes& times, OperationKind purpose) {
    if (purpose == OperationKind::forward) return times.forward;
    return purpose == OperationKind::optimizer ? times.optimizer : times.backward;
  }
  EventId record(Program& program, OperationKind purpose) {
    append_record(program, purpose, programs_.events);
    return programs_.events++;
  }
  EventId run(Program& stream, OperationKind purpose, std::uint32_t index, EventId filled,
              std::int32_t bucket) {
    append_wait(stream, purpose, filled, costs_.event_latency + collectives_[index].to_host);
    append_collective(stream, purpose, index, bucket);
    return record(stream, purpose);
  }

  Program& program_of(SideStream stream) {
    return stream.other_ ? programs_.others[*stream.other_] : programs_.communication;
  }
  Duration to_device(std::uint32_t index) const { return collectives_[index].to_device; }
  Program& apart() {
    if (programs_.others.empty()) programs_.others.emplace_back();
    return programs_.others.front();
  }
  void note_awaited(std::uint32_t index, EventId launched, EventId ready) {
    if (awaited_.size() <= index) awaited_.resize(index + 1);
    awaited_[index] = {.launched = launched, .ready = {ready}};
  }

  const Job& job_;
  const StepCollectives& collectives_;
  const DdpCosts& costs_;
  const std::optional<Duration> host_lead_;
  const PartTimes launch_cost_;
  const PartTimes recorded_launch_cost_;
  const bool host_computes_;
  const bool in_intervals_;
  HostTime host_time_;
  Duration host_sooner_;
  Duration recorded_waits_;
  Duration copies_in_intervals_;
  /// Time of the GPU's work and waits for launches, with nothing else in its way.
  Duration alone_;
  /// The earliest time, on the schedule's clock, at which the compute stream can be here.
  Duration compute_at_least_;
  /// Time of the host here, on the schedule's clock. Absent if it waits for something that decides.
  std::optional<Duration> host_at_;
  const double times_as_long_;  ///< compared with the GPU recorded on
  Duration start_;
  Duration ahead_;
  RankPrograms programs_;
  std::vector<AwaitedEvents> awaited_;
};

}  // namespace ddpsim
