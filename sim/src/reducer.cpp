// The step, stream by stream.
//
//   compute        [buffer broadcast] forward | gradient, copy into bucket, gradient, copy, … |
//                  copies out, bucket by bucket as each all-reduce ends | optimizer
//   host           runs ahead of the GPU: a hook per gradient; when the gradients of the next
//                  bucket in order are all there, launches it and any following bucket that is
//                  complete too
//   communication  per bucket: not before its launch, not before the compute stream has passed the
//                  point at which it was launched, not before the bucket in front has ended
//
// What the recording already holds is kept, not added again: copies into buckets when DDP hooks
// were recorded, buffer broadcasts, host launch times of the very same buckets. What it holds and
// the options forbid (copies under no_sync) is taken out.

#include "reducer.hpp"

#include <algorithm>

#include "ddpsim/sim/assert.hpp"

namespace ddpsim {
namespace {

/// Since then the division by the world size rides on the copy into the bucket (mul_out); before,
/// the full bucket was divided in place. (Reducer sources with and without bucket views; 1.6
/// and 1.7 are the uncertain neighbours.)
constexpr TorchVersion kDividesWhileCopying{1, 7};

/// However many channels: compute never quite stops.
constexpr double kMostLoss = 0.9;

/// A recorded stretch during which NCCL slowed compute, on the backward clock.
struct SlowStretch {
  Duration start;
  Duration end;
  double loss;  ///< share of compute speed lost
};

/// One gradient on the compute stream as recorded.
struct GradientSegment {
  std::size_t parameter;
  Duration at;      ///< written
  Duration copied;  ///< and copied into its bucket; equals `at` where no hooks were recorded
};

class StepScheduler {
 public:
  StepScheduler(const Workload& workload, const Cluster& cluster, const SimulationOptions& options,
                const CollectiveModel& model, const std::vector<Bucket>& buckets,
                const StepKind& kind)
      : workload_(workload),
        options_(options),
        costs_(options.costs),
        model_(model),
        buckets_(buckets),
        kind_(kind),
        backward_(*workload.backward),
        recorded_(workload.recorded_with),
        copy_rate_(cluster.gpu.memory_bandwidth * options.costs.copy_bandwidth_share),
        sms_(std::max(1, cluster.gpu.sms)) {
    note_buckets();
    note_gradients();
    note_slow_stretches();
    plan_collectives();
  }

  ReducerSchedule build() {
    const std::vector<std::pair<int, double>> classes = rank_classes();
    for (const auto& [rank, factor] : classes) {
      scale_ = options_.compute_scale * factor;
      programs_ = RankPrograms{.rank = rank, .host = {}, .compute = {}, .communication = {}};
      result_.ready_operation.assign(buckets_.size(), 0);
      result_.launch_operation.assign(buckets_.size(), 0);
      step();
      result_.schedule.ranks.push_back(std::move(programs_));
    }
    return std::move(result_);
  }

 private:
  // --- what is known before any program is written
  // ------------------------------------------------

  void note_buckets() {
    bucket_of_.assign(workload_.parameters.size(), -1);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (const std::size_t parameter : buckets_[b].parameters)
        bucket_of_[parameter] = static_cast<std::int32_t>(b);
  }

  void note_gradients() {
    for (std::size_t k = 0; k < backward_.ready.size(); ++k) {
      const ReadyEvent& event = backward_.ready[k];
      Duration copied = event.at;
      if (recorded_.ddp_hooks && bucket_of_[event.parameter] >= 0) {
        const Duration next =
            k + 1 < backward_.ready.size() ? backward_.ready[k + 1].at : backward_.duration;
        copied = event.copied_at.value_or(event.at + copy_cost(bytes_of(event.parameter)));
        copied = std::min(copied, next);
      }
      gradients_.push_back({event.parameter, event.at, copied});
    }
    std::vector<bool> used(workload_.parameters.size(), false);
    for (const GradientSegment& gradient : gradients_) used[gradient.parameter] = true;
    for (std::size_t i = 0; i < workload_.parameters.size(); ++i)
      if (bucket_of_[i] >= 0 && !used[i]) unused_.push_back(i);
  }

  /// The recorded NCCL kernels, by the SMs they held then: nothing of the cluster under study.
  void note_slow_stretches() {
    const int recorded_sms = options_.recorded_sms > 0 ? options_.recorded_sms : sms_;
    for (const RecordedCollective& collective : recorded_.collectives) {
      const double loss = options_.interference.sm_share * collective.channels / recorded_sms;
      if (loss > 0)
        slow_.push_back(
            {collective.start, collective.start + collective.duration, std::min(loss, kMostLoss)});
    }
  }

  void plan_collectives() {
    Schedule& schedule = result_.schedule;
    std::size_t broadcasts = 0;
    const auto add = [&](CollectiveKind kind, Bytes bytes, std::size_t index) {
      const CollectivePlan planned = plan(model_, kind, bytes, index);
      schedule.collectives.push_back({planned.transfer, planned.channels});
      result_.choices.push_back(planned.choice);
      return static_cast<std::uint32_t>(schedule.collectives.size() - 1);
    };
    if (kind_.rebuild) {
      for (const std::int64_t entries :
           {ddp_parameters() + 1, static_cast<std::int64_t>(buckets_.size())})
        rebuild_.push_back(add(CollectiveKind::broadcast, Bytes(4) * entries, broadcasts++));
    }
    if (broadcasts_buffers() && !recorded_.buffer_broadcast)
      for (const BufferGroup& group : workload_.buffers)
        buffers_.push_back(add(CollectiveKind::broadcast, group.bytes, broadcasts++));
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      result_.bucket_collectives.push_back(add(CollectiveKind::all_reduce, buckets_[b].bytes, b));
    if (options_.ddp.find_unused_parameters || kind_.delay_launch) {
      result_.local_used_map =
          add(CollectiveKind::all_reduce, Bytes(4) * ddp_parameters(), buckets_.size());
    }
  }

  /// Classes of ranks that compute alike: (lowest rank, factor), by lowest rank.
  std::vector<std::pair<int, double>> rank_classes() const {
    if (options_.rank_compute_scale.empty()) return {{0, 1.0}};
    std::vector<std::pair<int, double>> classes;
    for (std::size_t rank = 0; rank < options_.rank_compute_scale.size(); ++rank) {
      const double factor = options_.rank_compute_scale[rank];
      const bool known = std::any_of(classes.begin(), classes.end(),
                                     [&](const auto& entry) { return entry.second == factor; });
      if (!known) classes.emplace_back(static_cast<int>(rank), factor);
    }
    return classes;
  }

  std::int64_t ddp_parameters() const {
    return std::count_if(bucket_of_.begin(), bucket_of_.end(),
                         [](std::int32_t bucket) { return bucket >= 0; });
  }
  Bytes bytes_of(std::size_t parameter) const {
    return gradient_bytes(workload_.parameters[parameter]).value_or(Bytes());
  }
  Duration copy_cost(Bytes bytes) const {
    return costs_.copy_kernel + costs_.kernel_gap + 2 * bytes / copy_rate_;
  }
  bool broadcasts_buffers() const {
    return options_.ddp.broadcast_buffers && !workload_.buffers.empty();
  }
  Duration scaled(Duration recorded) const {
    return scale_ == 1 ? recorded : recorded.scaled(1 / scale_);
  }

  /// Compute work between two instants of the recording, without the slowdown by recorded NCCL
  /// kernels.
  Duration work_between(Duration from, Duration to) const {
    Duration work = to - from;
    for (const SlowStretch& slow : slow_) {
      const Duration overlap = std::min(to, slow.end) - std::max(from, slow.start);
      if (overlap > Duration()) work -= overlap.scaled(slow.loss);
    }
    return std::max(work, Duration());
  }

  // --- writing operations
  // -------------------------------------------------------------------------

  EventId new_event() { return programs_.events++; }

  static void work(Program& program, Purpose purpose, Duration duration, std::int32_t bucket = -1) {
    if (duration > Duration())
      program.push_back(
          {.action = Action::work, .purpose = purpose, .duration = duration, .bucket = bucket});
  }
  static void record(Program& program, Purpose purpose, EventId event) {
    program.push_back({.action = Action::record, .purpose = purpose, .event = event});
  }
  static void wait(Program& program, Purpose purpose, EventId event, Duration latency) {
    program.push_back(
        {.action = Action::wait, .purpose = purpose, .duration = latency, .event = event});
  }
  void collective(Purpose purpose, std::uint32_t index, std::int32_t bucket = -1) {
    programs_.communication.push_back(
        {.action = Action::collective, .purpose = purpose, .collective = index, .bucket = bucket});
  }

  /// The compute stream hands over to a collective and goes on when it is done.
  void blocking_collective(Purpose purpose, std::uint32_t index, Duration return_latency) {
    const EventId before = new_event();
    const EventId done = new_event();
    record(programs_.compute, purpose, before);
    wait(programs_.communication, purpose, before, costs_.event_latency);
    collective(purpose, index);
    record(programs_.communication, purpose, done);
    wait(programs_.compute, purpose, done, return_latency);
  }

  // --- the step
  // -----------------------------------------------------------------------------------

  void step() {
    for (const std::uint32_t index : rebuild_)  // blocking device-to-host copies: a host round trip
      blocking_collective(Purpose::rebuild, index, costs_.launch_latency + costs_.host_launch);
    broadcast_buffers();
    for (int batch = 0; batch + 1 < options_.ddp.accumulate; ++batch) {
      forward(batch == 0);
      backward_without_sync(batch);
    }
    forward(options_.ddp.accumulate == 1);
    search_unused();
    if (kind_.delay_launch)
      backward_then_launch();
    else
      backward_with_sync();
    finalize();
    if (workload_.optimizer)
      work(programs_.compute, Purpose::optimizer, scaled(*workload_.optimizer));
  }

  /// One flatten kernel, the broadcast, and one copy back per buffer, for each dtype. The trace of
  /// a one-rank job shows the copies back on rank 0 too, so all ranks are alike.
  void broadcast_buffers() {
    if (!broadcasts_buffers()) return;
    for (std::size_t g = 0; g < workload_.buffers.size(); ++g) {
      const BufferGroup& group = workload_.buffers[g];
      if (!recorded_.ddp_hooks)
        work(programs_.compute, Purpose::buffer_copy, copy_cost(group.bytes));
      if (!buffers_.empty())
        blocking_collective(Purpose::buffer_broadcast, buffers_[g], costs_.event_latency);
      if (!recorded_.ddp_hooks)
        work(programs_.compute, Purpose::buffer_copy, copy_back_cost(group));
    }
  }

  Duration copy_back_cost(const BufferGroup& group) const {
    return (costs_.copy_kernel + costs_.kernel_gap) * group.tensors + 2 * group.bytes / copy_rate_;
  }

  /// Buffers are broadcast only before the forward after a synchronised backward: where the recording
  /// holds that, other forwards are shorter.
  void forward(bool after_sync) {
    Duration duration = workload_.forward.value_or(Duration());
    if (recorded_.ddp_hooks && !(after_sync && options_.ddp.broadcast_buffers)) {
      for (const BufferGroup& group : workload_.buffers)
        duration -= copy_cost(group.bytes) + copy_back_cost(group);
      duration -= recorded_.buffer_broadcast.value_or(Duration());
    }
    work(programs_.compute, Purpose::forward, scaled(std::max(duration, Duration())));
  }

  /// The host walks the autograd graph at the end of a forward whose backward will be synchronised.
  void search_unused() {
    if (options_.ddp.find_unused_parameters && !options_.ddp.static_graph)
      work(programs_.host, Purpose::search_unused,
           costs_.host_search_per_parameter *
               static_cast<std::int64_t>(workload_.parameters.size()));
  }

  /// A backward under no_sync: hooks return at once, so nothing can come between its gradients and
  /// it is one stretch of work. From the second micro-batch on autograd adds into the gradient
  /// there is.
  void backward_without_sync(int batch) {
    Duration total;
    Duration reached;
    for (const GradientSegment& gradient : gradients_) {
      const Bytes bytes = bytes_of(gradient.parameter);
      const Duration recorded_copy = work_between(gradient.at, gradient.copied);
      total += scaled(work_between(reached, gradient.at)) +
               scaled(recorded_copy - std::min(recorded_copy, copy_cost(bytes)));
      if (batch > 0) total += accumulation_cost(bytes);
      reached = gradient.copied;
    }
    total += scaled(work_between(reached, backward_.duration));
    work(programs_.compute, Purpose::backward, total);
  }

  /// Adding into a gradient: two reads, one write.
  Duration accumulation_cost(Bytes bytes) const {
    return costs_.copy_kernel + costs_.kernel_gap + 3 * bytes / copy_rate_;
  }

  void compute_until(Duration from, Duration to, std::int32_t bucket) {
    work(programs_.compute, Purpose::backward, scaled(work_between(from, to)), bucket);
  }

  void backward_with_sync() {
    std::vector<std::size_t> pending(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) pending[b] = buckets_[b].parameters.size();
    std::size_t next_bucket = 0;
    bool first_hook = true;
    Duration reached;
    Duration hooks;  // host time of hooks since the last launch
    for (std::size_t k = 0; k < gradients_.size(); ++k) {
      const GradientSegment& gradient = gradients_[k];
      const std::int32_t bucket = bucket_of_[gradient.parameter];
      compute_until(reached, gradient.at, bucket);
      reached = gradient.copied;
      if (options_.ddp.accumulate > 1)
        work(programs_.compute, Purpose::backward, accumulation_cost(bytes_of(gradient.parameter)));
      if (bucket < 0) continue;
      note_ready(bucket);
      if (first_hook) hooks_of_unused(pending);
      first_hook = false;
      copy_into_bucket(gradient, bucket);
      hooks += costs_.host_hook;
      if (--pending[static_cast<std::size_t>(bucket)] == 0) divide(bucket);
      if (next_bucket < buckets_.size() && pending[next_bucket] == 0) reach_on_host(k, hooks);
      while (next_bucket < buckets_.size() && pending[next_bucket] == 0) launch(next_bucket++);
    }
    compute_until(reached, backward_.duration, -1);
    while (next_bucket < buckets_.size()) launch(next_bucket++);
    launch_local_used_map();
  }

  /// A recorded copy keeps its instant. Of the time up to it only the kernel is the copy's; the
  /// rest is the GPU waiting for a slow host, and stays part of backward.
  void copy_into_bucket(const GradientSegment& gradient, std::int32_t bucket) {
    Duration copy = copy_cost(bytes_of(gradient.parameter));
    if (recorded_.ddp_hooks) {
      const Duration recorded = scaled(work_between(gradient.at, gradient.copied));
      copy = std::min(copy, recorded);
      work(programs_.compute, Purpose::backward, recorded - copy, bucket);
    }
    work(programs_.compute, Purpose::copy_in, copy, bucket);
  }

  /// One kernel over the whole bucket, in versions that do not divide while copying.
  void divide(std::int32_t bucket) {
    if (options_.ddp.torch >= kDividesWhileCopying || recorded_.ddp_hooks) return;
    work(programs_.compute, Purpose::copy_in,
         copy_cost(buckets_[static_cast<std::size_t>(bucket)].bytes), bucket);
  }

  /// Parameters that took no part in the forward become ready at the first hook: their slices are
  /// filled with zeros.
  void hooks_of_unused(std::vector<std::size_t>& pending) {
    for (const std::size_t parameter : unused_) {
      const std::int32_t bucket = bucket_of_[parameter];
      note_ready(bucket);
      --pending[static_cast<std::size_t>(bucket)];
      if (!recorded_.ddp_hooks)
        work(programs_.compute, Purpose::copy_in,
             costs_.copy_kernel + costs_.kernel_gap + bytes_of(parameter) / copy_rate_, bucket);
    }
  }

  /// The gradient just computed is the bucket's last so far.
  void note_ready(std::int32_t bucket) {
    result_.ready_operation[static_cast<std::size_t>(bucket)] =
        programs_.compute.empty() ? 0 : programs_.compute.size() - 1;
  }

  /// The host works off the hooks since the last launch and comes to the k-th gradient: when it did
  /// in the recording, else a forward ahead of the GPU. (A V100 trace shows it nearly a step
  /// ahead.)
  void reach_on_host(std::size_t k, Duration& hooks) {
    work(programs_.host, Purpose::hook, hooks);
    hooks = Duration();
    const Duration instant = workload_.host_ready.empty()
                                 ? gradients_[k].at - workload_.forward.value_or(Duration())
                                 : workload_.host_ready[k];
    programs_.host.push_back({.action = Action::wait_until,
                              .purpose = Purpose::hook,
                              .duration = on_step_clock(instant)});
  }

  /// An instant of the recorded backward clock, counted from the start of the step.
  Duration on_step_clock(Duration recorded) const {
    const Duration forward = workload_.forward.value_or(Duration());
    const Duration before =
        (forward + backward_.duration) * (options_.ddp.accumulate - 1) + forward;
    return std::max(scaled(before + recorded), Duration());
  }

  void launch(std::size_t b) {
    const EventId launched = new_event();
    const EventId filled = new_event();
    const EventId done = new_event();
    const auto label = static_cast<std::int32_t>(b);
    if (const RecordedCollective* recorded = recorded_launch(b)) {
      programs_.host.push_back({.action = Action::wait_until,
                                .purpose = Purpose::launch,
                                .duration = on_step_clock(recorded->launch),
                                .bucket = label});
    } else {
      work(programs_.host, Purpose::launch, costs_.host_launch, label);
    }
    result_.launch_operation[b] = programs_.host.size();
    record(programs_.host, Purpose::launch, launched);
    record(programs_.compute, Purpose::copy_in, filled);
    Program& communication = programs_.communication;
    wait(communication, Purpose::all_reduce, launched, costs_.launch_latency);
    wait(communication, Purpose::all_reduce, filled, costs_.event_latency);
    collective(Purpose::all_reduce, result_.bucket_collectives[b], label);
    record(communication, Purpose::all_reduce, done);
    done_.push_back(done);
  }

  /// Host launch time of bucket `b` as recorded: only when the recording had the very same buckets.
  const RecordedCollective* recorded_launch(std::size_t b) const {
    if (recorded_.collectives.size() != buckets_.size()) return nullptr;
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      if (recorded_.collectives[i].bytes != buckets_[i].bytes) return nullptr;
    return &recorded_.collectives[b];
  }

  void launch_local_used_map() {
    if (!result_.local_used_map) return;
    const EventId launched = new_event();
    const EventId passed = new_event();
    map_done_ = new_event();
    work(programs_.host, Purpose::launch, costs_.host_launch);
    record(programs_.host, Purpose::launch, launched);
    record(programs_.compute, Purpose::copy_in, passed);
    wait(programs_.communication, Purpose::local_used_map, launched, costs_.launch_latency);
    wait(programs_.communication, Purpose::local_used_map, passed, costs_.event_latency);
    collective(Purpose::local_used_map, *result_.local_used_map);
    record(programs_.communication, Purpose::local_used_map, map_done_);
  }

  /// static_graph's first iteration: backward alone, then the map, then copies and launches, bucket by
  /// bucket.
  void backward_then_launch() {
    Duration reached;
    for (const GradientSegment& gradient : gradients_) {
      const std::int32_t bucket = bucket_of_[gradient.parameter];
      const Bytes bytes = bytes_of(gradient.parameter);
      compute_until(reached, gradient.at, bucket);
      if (options_.ddp.accumulate > 1)
        work(programs_.compute, Purpose::backward, accumulation_cost(bytes));
      if (bucket >= 0) note_ready(bucket);
      const Duration recorded_copy = work_between(gradient.at, gradient.copied);
      work(programs_.compute, Purpose::backward,
           scaled(recorded_copy - std::min(recorded_copy, copy_cost(bytes))), bucket);
      reached = gradient.copied;
    }
    compute_until(reached, backward_.duration, -1);
    Duration hooks = costs_.host_hook * static_cast<std::int64_t>(gradients_.size());
    if (!gradients_.empty()) reach_on_host(gradients_.size() - 1, hooks);
    launch_local_used_map();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      Duration copies;
      for (const std::size_t parameter : buckets_[b].parameters)
        copies += copy_cost(bytes_of(parameter));
      work(programs_.compute, Purpose::copy_in, copies, static_cast<std::int32_t>(b));
      launch(b);
    }
  }

  /// Bucket by bucket: wait for its all-reduce, then copy its gradients out.
  void finalize() {
    const double share = recorded_finalize_share();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      wait(programs_.compute, Purpose::all_reduce, done_[b], costs_.event_latency);
      if (!options_.ddp.gradient_as_bucket_view && buckets_[b].closed_by != ClosedBy::sparse)
        work(programs_.compute, Purpose::copy_out, copy_out_cost(buckets_[b]).scaled(share),
             static_cast<std::int32_t>(b));
    }
    // The map is always waited for; where a parameter was unused the host reads it back first.
    if (result_.local_used_map)
      wait(programs_.compute, Purpose::local_used_map, map_done_,
           costs_.event_latency + (unused_.empty() ? Duration() : costs_.launch_latency));
    done_.clear();
  }

  Duration copy_out_cost(const Bucket& bucket) const {
    Duration total;
    for (const std::size_t parameter : bucket.parameters) total += copy_cost(bytes_of(parameter));
    return total;
  }

  /// A recorded finalize replaces the modelled one as a whole, shared out over the gradients by the
  /// model. What was recorded is the time copies took beyond the exposed tail of communication; while
  /// the last bucket was on the wire, gradients of the others were copied already. So the copies took
  /// recorded + exposed where the others had copies enough to fill the tail, else
  /// recorded / (share of the last bucket). The buckets meant are the recorded ones.
  double recorded_finalize_share() const {
    if (!recorded_.ddp_hooks || !recorded_.finalize) return 1;
    Duration modelled;
    for (const Bucket& bucket : buckets_)
      if (bucket.closed_by != ClosedBy::sparse) modelled += copy_out_cost(bucket);
    if (modelled <= Duration()) return 1;
    const Duration tail = recorded_.exposed.value_or(Duration());
    const Duration last = copies_of_last_recorded_bucket();
    const Duration filled = *recorded_.finalize + tail;
    const Duration before_last = filled.scaled(1 - last / modelled);
    const Duration copies = last <= Duration() || before_last >= tail
                                ? filled
                                : recorded_.finalize->scaled(modelled / last);
    return std::max(0.0, scaled(copies) / modelled);
  }

  Duration copies_of_last_recorded_bucket() const {
    if (recorded_.collectives.empty()) return Duration();
    Bytes left = recorded_.collectives.back().bytes;
    Duration copies;
    for (std::size_t k = gradients_.size(); k-- > 0 && left > Bytes();) {
      if (bucket_of_[gradients_[k].parameter] < 0) continue;
      const Bytes bytes = bytes_of(gradients_[k].parameter);
      copies += copy_cost(bytes);
      left = left - bytes;
    }
    return copies;
  }

  const Workload& workload_;
  const SimulationOptions& options_;
  const DdpCosts& costs_;
  const CollectiveModel& model_;
  const std::vector<Bucket>& buckets_;
  const StepKind kind_;
  const Backward& backward_;
  const RecordedWith& recorded_;
  const Bandwidth copy_rate_;
  const int sms_;

  std::vector<std::int32_t> bucket_of_;  ///< by parameter; -1: outside DDP
  std::vector<GradientSegment> gradients_;
  std::vector<std::size_t> unused_;
  std::vector<SlowStretch> slow_;
  std::vector<std::uint32_t> rebuild_;
  std::vector<std::uint32_t> buffers_;

  double scale_ = 1;
  RankPrograms programs_;
  std::vector<EventId> done_;  ///< by bucket
  EventId map_done_ = 0;
  ReducerSchedule result_;
};

}  // namespace

ReducerSchedule schedule_step(const Workload& workload, const Cluster& cluster,
                              const SimulationOptions& options, const CollectiveModel& model,
                              const std::vector<Bucket>& buckets, const StepKind& kind) {
  DDPSIM_ASSERT(workload.backward.has_value(), "a schedule needs backward timing");
  return StepScheduler(workload, cluster, options, model, buckets, kind).build();
}

}  // namespace ddpsim
