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
// A communication hook adds a cast to 16 bits and a division to the compute stream at the launch;
// the cast back runs on a stream of its own as soon as the all-reduce has ended, and the copies out
// wait for it.
//
// What the recording already holds is kept, not added again: copies into buckets when DDP hooks
// were recorded, buffer broadcasts, host launch times of the very same buckets. What it holds and
// the options forbid (copies under no_sync) is taken out.

#include "reducer.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/assert.hpp"
#include "ddpsim/sim/step.hpp"
#include "memory_load.hpp"
#include "operations.hpp"
#include "rank_classes.hpp"
#include "recording.hpp"
#include "sync_batch_norm.hpp"

namespace ddpsim {
namespace {

/// Since then the division by the world size rides on the copy into the bucket (mul_out); before, the
/// full bucket was divided in place. (Reducer sources with and without bucket views; 1.6 and 1.7 are
/// the uncertain neighbours.)
constexpr TorchVersion kDividesWhileCopying{1, 7};

class StepScheduler {
 public:
  StepScheduler(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                const std::vector<RankState>& states)
      : job_(job),
        workload_(job.workload()),
        options_(job.options()),
        costs_(options_.costs),
        buckets_(buckets),
        kind_(kind),
        states_(states),
        cluster_(job.cluster()),
        kernels_(job),
        layers_(synced_layers(job)) {
    bucket_of_.assign(workload_.parameters.size(), -1);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (const std::size_t parameter : buckets_[b].parameters)
        bucket_of_[parameter] = static_cast<std::int32_t>(b);
    used_.assign(workload_.parameters.size(), false);
    layer_of_.assign(workload_.parameters.size(), -1);
    for (std::size_t k = 0; k < layers_.size(); ++k)
      layer_of_[layers_[k]] = static_cast<std::int32_t>(k);
    note_used(workload_);
    for (const RankRecording& rank : workload_.ranks) note_used(rank);
  }

  ReducerSchedule build() {
    result_.ready_operation.assign(buckets_.size(), 0);
    result_.launch_operation.assign(buckets_.size(), 0);
    RankClasses ranks = rank_classes(job_, states_);
    result_.program_of_rank = std::move(ranks.class_of_rank);
    for (const RankClass& alike : ranks.classes) {
      const Recorded& recorded = recorded_by(alike);
      recording_.emplace(job_, recorded);
      shares_of_forward_ = shares_of_forward(recorded, layers_);
      recorded_launches_ = recording_->launches(buckets_);
      scale_ = compute_speed(job_);
      offset_ = alike.state ? alike.state->start : recorded_offset(alike);
      if (alike.state) scale_ /= alike.state->slowdown;
      programs_ = RankPrograms{.rank = alike.rank, .host = {}, .compute = {}, .communication = {}};
      reserve();
      if (result_.schedule.ranks.empty()) plan_collectives();
      result_.gradients.emplace_back().reserve(recording_->gradients().size());
      step();
      result_.schedule.start = std::min(result_.schedule.start, TimePoint(offset_));
      result_.schedule.ranks.push_back(std::move(programs_));
    }
    return std::move(result_);
  }

 private:
  void plan_collectives() {
    Schedule& schedule = result_.schedule;
    schedule.in_flight = {.groups = options_.ddp.process_groups,
                          .threads = collectives_at_a_time(job_),
                          .to_fill = collectives_to_fill(job_)};
    std::size_t broadcasts = 0;
    if (kind_.rebuild) {
      for (const std::int64_t entries :
           {ddp_parameters() + 1, static_cast<std::int64_t>(buckets_.size())})
        rebuild_.push_back(add(CollectiveKind::broadcast, Bytes(4) * entries, broadcasts++));
    }
    if (broadcasts_buffers() && !recording_->has_buffer_broadcast())
      for (const BufferGroup& group : workload_.buffers)
        buffers_.push_back(add(CollectiveKind::broadcast, group.bytes, broadcasts++));
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      result_.bucket_collectives.push_back(add(CollectiveKind::all_reduce, on_the_wire(b), b));
    if (searches_unused() || kind_.delay_launch) {
      result_.local_used_map =
          add(CollectiveKind::all_reduce, Bytes(4) * ddp_parameters(), buckets_.size());
    }
    plan_statistics();
  }

  std::uint32_t add(CollectiveKind kind, Bytes bytes, std::size_t index) {
    const CollectivePlan planned = plan(job_, kind, bytes, index);
    result_.schedule.collectives.push_back(
        {planned.transfer, planned.channels, kind, bytes, planned.volume,
         planned.choice ? memory_load(kind, bytes, planned.transfer, cluster_) : 0});
    result_.choices.push_back(planned.choice);
    to_host_.push_back(planned.to_host);
    to_device_.push_back(planned.to_device);
    return static_cast<std::uint32_t>(result_.schedule.collectives.size() - 1);
  }

  /// An all-gather and an all-reduce of each layer, micro-batch by micro-batch; no recording holds them.
  void plan_statistics() {
    statistics_ = static_cast<std::uint32_t>(result_.schedule.collectives.size());
    const std::size_t unrecorded = buckets_.size() + 1;
    for (int batch = 0; batch < options_.ddp.accumulate; ++batch)
      for (const std::size_t layer : layers_) {
        const Parameter& weight = workload_.parameters[layer];
        add(CollectiveKind::all_gather, gathered_statistics(weight, cluster_.ranks()), unrecorded);
        add(CollectiveKind::all_reduce, reduced_statistics(weight), unrecorded);
      }
  }

  /// Of the micro-batch at hand; the all-reduce is the one behind.
  std::uint32_t all_gather_of(std::size_t layer) const {
    const std::size_t before = static_cast<std::size_t>(batch_) * layers_.size() + layer;
    return statistics_ + static_cast<std::uint32_t>(2 * before);
  }

  /// Room for a plain step: gradient, wait for a slow host, copy; a few operations around each bucket.
  void reserve() {
    const std::size_t around = 6 * (buckets_.size() + 1);
    programs_.compute.reserve(3 * recording_->gradients().size() + around);
    programs_.host.reserve(around);
    programs_.communication.reserve(around);
  }

  const Recorded& recorded_by(const RankClass& alike) const {
    return alike.recording ? static_cast<const Recorded&>(workload_.ranks[*alike.recording])
                           : workload_;
  }
  Duration recorded_offset(const RankClass& alike) const {
    return alike.recording ? scaled(workload_.ranks[*alike.recording].offset) : Duration();
  }

  std::int64_t ddp_parameters() const {
    return std::count_if(bucket_of_.begin(), bucket_of_.end(),
                         [](std::int32_t bucket) { return bucket >= 0; });
  }
  bool broadcasts_buffers() const {
    return options_.ddp.broadcast_buffers && !workload_.buffers.empty();
  }
  /// A static graph is searched, and its map reduced, in the first iteration alone (dynamic_graph_find_unused).
  bool searches_unused() const {
    return options_.ddp.find_unused_parameters && !options_.ddp.static_graph;
  }
  /// A time of the GPU recorded on, on this one.
  Duration scaled(Duration recorded) const {
    return scale_ == 1 ? recorded : recorded.scaled(1 / scale_);
  }
  std::int32_t bucket_of(const GradientStretch& gradient) const {
    return bucket_of_[gradient.parameter];
  }

  bool is_first_rank() const { return result_.schedule.ranks.empty(); }
  EventId new_event() { return programs_.events++; }

  /// The compute stream hands over to a collective and goes on when it is done.
  void blocking_collective(OperationKind purpose, std::uint32_t index, Duration return_latency) {
    const EventId before = new_event();
    const EventId done = new_event();
    append_record(programs_.compute, purpose, before);
    append_wait(programs_.communication, purpose, before, costs_.event_latency + to_host_[index]);
    append_collective(programs_.communication, purpose, index);
    append_record(programs_.communication, purpose, done);
    append_wait(programs_.compute, purpose, done, return_latency + to_device_[index]);
  }

  void compute(Duration recorded, std::int32_t bucket = -1) {
    append_work(programs_.compute, OperationKind::backward, scaled(recorded), bucket);
  }

  void step() {
    start_at_offset();
    for (const std::uint32_t index : rebuild_)  // blocking device-to-host copies: a host round trip
      blocking_collective(OperationKind::rebuild, index,
                          costs_.launch_latency + costs_.host_launch);
    broadcast_buffers();
    for (batch_ = 0; batch_ + 1 < options_.ddp.accumulate; ++batch_) {
      forward(batch_ == 0);
      backward_without_sync();
    }
    forward(options_.ddp.accumulate == 1);
    search_unused();
    if (kind_.delay_launch)
      backward_then_launch();
    else
      backward_with_sync();
    finalize();
    append_work(programs_.compute, OperationKind::optimizer, scaled(recording_->optimizer()));
  }

  /// Ranks of one job do not begin their forwards together: data loading and what follows the last
  /// all-reduce differ, and nobody waits for anybody in between.
  void start_at_offset() {
    if (workload_.ranks.empty() && states_.empty()) return;
    for (Program* program : {&programs_.host, &programs_.compute})
      append_wait_until(*program, OperationKind::forward, offset_);
  }

  /// One flatten kernel, the broadcast, and one copy back per buffer, for each dtype. The trace of a
  /// one-rank job shows the copies back on rank 0 too, so all ranks are alike.
  void broadcast_buffers() {
    if (!broadcasts_buffers()) return;
    for (std::size_t g = 0; g < workload_.buffers.size(); ++g) {
      const BufferGroup& group = workload_.buffers[g];
      if (!recording_->has_hooks())
        append_work(programs_.compute, OperationKind::buffer_copy, kernels_.flatten(group));
      if (!buffers_.empty())
        blocking_collective(OperationKind::buffer_broadcast, buffers_[g], costs_.event_latency);
      if (!recording_->has_hooks())
        append_work(programs_.compute, OperationKind::buffer_copy, kernels_.unflatten(group));
    }
  }

  /// Buffers are broadcast only before the forward after a synchronised backward.
  void forward(bool after_sync) {
    const bool with_buffers = after_sync && options_.ddp.broadcast_buffers;
    const Duration total = scaled(recording_->forward(with_buffers));
    Duration done;
    const auto go_on_to = [&](Duration at) {
      append_work(programs_.compute, OperationKind::forward, at - done);
      done = std::max(done, at);
    };
    for (std::size_t k = layers_.size(); k-- > 0;) {
      go_on_to(total.scaled(shares_of_forward_[k]));
      exchange(all_gather_of(k));
      read_on_host(blocking_reads(options_.ddp.torch));
    }
    go_on_to(total);
  }

  /// Launched by the host; the compute stream goes on with what came of it.
  void exchange(std::uint32_t statistics) {
    const EventId launched = new_event();
    append_work(programs_.host, OperationKind::launch, costs_.host_launch);
    append_record(programs_.host, OperationKind::launch, launched);
    append_wait(programs_.communication, OperationKind::sync_batch_norm, launched,
                costs_.launch_latency);
    blocking_collective(OperationKind::sync_batch_norm, statistics, costs_.event_latency);
  }

  /// The host waits for the compute stream, which has nothing to do until the host has launched more: so often a round
  /// trip.
  void read_on_host(int times) {
    const EventId passed = new_event();
    const EventId launched = new_event();
    append_record(programs_.compute, OperationKind::sync_batch_norm, passed);
    append_wait(programs_.host, OperationKind::sync_batch_norm, passed,
                (costs_.launch_latency + costs_.host_launch) * times);
    append_record(programs_.host, OperationKind::sync_batch_norm, launched);
    append_wait(programs_.compute, OperationKind::sync_batch_norm, launched, Duration());
  }

  /// The sums over a layer, when backward comes to its weight.
  void exchange_in_backward(std::size_t parameter) {
    if (const std::int32_t layer = layer_of_[parameter]; layer >= 0)
      exchange(all_gather_of(static_cast<std::size_t>(layer)) + 1);
  }

  /// The host walks the autograd graph at the end of a forward whose backward will be synchronised.
  void search_unused() {
    if (searches_unused())
      append_work(programs_.host, OperationKind::search_unused,
                  costs_.host_search_per_parameter *
                      static_cast<std::int64_t>(workload_.parameters.size()));
  }

  /// A backward under no_sync: hooks return at once, so nothing can come between its gradients and it
  /// is one stretch of work, but for SyncBatchNorm. From the second micro-batch on autograd adds into the gradient
  /// there is.
  void backward_without_sync() {
    Duration total;
    for (const GradientStretch& gradient : recording_->gradients()) {
      total += scaled(gradient.compute + gradient.idle);
      if (batch_ > 0) total += kernels_.accumulate(gradient.bytes);
      if (layer_of_[gradient.parameter] < 0) continue;
      append_work(programs_.compute, OperationKind::backward, std::exchange(total, Duration()));
      exchange_in_backward(gradient.parameter);
    }
    append_work(programs_.compute, OperationKind::backward,
                total + scaled(recording_->after_last_gradient()));
  }

  /// Compute up to a gradient, and its place in .grad when earlier micro-batches left one there. `hooks`: host time of
  /// those since it was last waited for.
  void compute_gradient(const GradientStretch& gradient, Duration& hooks) {
    const std::int32_t bucket = bucket_of(gradient);
    compute(gradient.compute, bucket);
    if (layer_of_[gradient.parameter] >= 0) reach_on_host(gradient, hooks);
    exchange_in_backward(gradient.parameter);
    if (options_.ddp.accumulate > 1)
      append_work(programs_.compute, OperationKind::backward, kernels_.accumulate(gradient.bytes));
    result_.gradients.back().push_back({gradient.parameter, last_operation()});
    if (bucket >= 0) note_ready(bucket);
  }

  std::size_t last_operation() const {
    return programs_.compute.empty() ? 0 : programs_.compute.size() - 1;
  }

  void backward_with_sync() {
    std::vector<std::size_t> pending(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) pending[b] = buckets_[b].parameters.size();
    const auto next_is_complete = [&](std::size_t next) {
      return next < buckets_.size() && pending[next] == 0;
    };
    std::size_t next_bucket = 0;
    bool first_hook = true;
    Duration hooks;  // host time of hooks since the last launch
    for (const GradientStretch& gradient : recording_->gradients()) {
      compute_gradient(gradient, hooks);
      const std::int32_t bucket = bucket_of(gradient);
      if (bucket < 0) continue;
      if (first_hook) hooks_of_unused(pending);
      first_hook = false;
      compute(gradient.idle, bucket);
      append_work(programs_.compute, OperationKind::copy_in, copy_into_bucket(gradient), bucket);
      hooks += costs_.host_hook;
      if (--pending[static_cast<std::size_t>(bucket)] == 0) divide(bucket);
      if (next_is_complete(next_bucket)) reach_on_host(gradient, hooks);
      while (next_is_complete(next_bucket)) launch(next_bucket++);
    }
    compute(recording_->after_last_gradient());
    while (next_bucket < buckets_.size()) launch(next_bucket++);
    launch_local_used_map();
  }

  Duration copy_into_bucket(const GradientStretch& gradient) const {
    return recording_->has_hooks() ? scaled(gradient.copy) : kernels_.copy(gradient.bytes);
  }

  /// One kernel over the whole bucket, in versions that do not divide while copying.
  void divide(std::int32_t bucket) {
    if (options_.ddp.torch >= kDividesWhileCopying || recording_->has_hooks()) return;
    append_work(programs_.compute, OperationKind::copy_in,
                kernels_.copy(buckets_[static_cast<std::size_t>(bucket)].bytes), bucket);
  }

  /// Parameters that took no part in the forward become ready at the first hook: their slices are
  /// filled with zeros.
  void hooks_of_unused(std::vector<std::size_t>& pending) {
    for (const std::size_t parameter : recording_->unused()) {
      const std::int32_t bucket = bucket_of_[parameter];
      const Bytes bytes = gradient_bytes(workload_.parameters[parameter]).value_or(Bytes());
      note_ready(bucket);
      --pending[static_cast<std::size_t>(bucket)];
      if (!recording_->has_hooks())
        append_work(programs_.compute, OperationKind::copy_in, kernels_.zero_fill(bytes), bucket);
    }
  }

  /// The gradient just computed is the bucket's last so far.
  void note_ready(std::int32_t bucket) {
    if (is_first_rank())
      result_.ready_operation[static_cast<std::size_t>(bucket)] = last_operation();
  }

  /// The host works off the hooks since the last launch and comes to this gradient.
  void reach_on_host(const GradientStretch& gradient, Duration& hooks) {
    append_work(programs_.host, OperationKind::hook, hooks);
    hooks = Duration();
    wait_on_host_until(gradient.host, OperationKind::hook, -1);
  }

  /// `recorded` is on the backward clock; the program counts from the start of the step.
  void wait_on_host_until(Duration recorded, OperationKind purpose, std::int32_t bucket) {
    const Duration forward = recording_->recorded_forward();
    const Duration before =
        (forward + recording_->backward()) * (options_.ddp.accumulate - 1) + forward;
    append_wait_until(programs_.host, purpose,
                      std::max(offset_ + scaled(before + recorded), offset_), bucket);
  }

  void launch(std::size_t b) {
    const EventId launched = new_event();
    const EventId filled = new_event();
    const EventId done = new_event();
    EventId hook_called = 0;
    const auto label = static_cast<std::int32_t>(b);
    if (options_.ddp.comm_hook != CommHook::none) {
      append_work(programs_.host, OperationKind::launch, costs_.host_comm_hook, label);
      // The hook enqueues its casts before its all-reduce: a host that is behind delays both.
      hook_called = new_event();
      append_record(programs_.host, OperationKind::launch, hook_called);
    }
    if (recorded_launches_)
      wait_on_host_until((*recorded_launches_)[b], OperationKind::launch, label);
    else
      append_work(programs_.host, OperationKind::launch, costs_.host_launch, label);
    if (is_first_rank()) result_.launch_operation[b] = programs_.host.size();
    append_record(programs_.host, OperationKind::launch, launched);
    compress(b, hook_called);
    append_record(programs_.compute, OperationKind::copy_in, filled);
    Program& communication = programs_.communication;
    append_wait(communication, OperationKind::all_reduce, launched, costs_.launch_latency);
    const std::uint32_t index = result_.bucket_collectives[b];
    append_wait(communication, OperationKind::all_reduce, filled,
                costs_.event_latency + to_host_[index]);
    append_collective(programs_.communication, OperationKind::all_reduce, index, label);
    append_record(communication, OperationKind::all_reduce, done);
    done_.push_back(done);
  }

  Bytes on_the_wire(std::size_t b) const {
    return wire_bytes(options_.ddp, buckets_[b].dtype, buckets_[b].bytes);
  }
  /// Gradients of the hook's own type are divided where they are.
  bool casts(std::size_t b) const {
    return wire_dtype(options_.ddp, buckets_[b].dtype) != buckets_[b].dtype;
  }
  /// The recording's copies into buckets hold them.
  bool recorded_casts(std::size_t b) const {
    return recording_->has_hooks() && recording_->wire() && casts(b) &&
           *recording_->wire() == wire_dtype(options_.ddp, buckets_[b].dtype);
  }
  void compress(std::size_t b, EventId hook_called) {
    if (options_.ddp.comm_hook == CommHook::none || recorded_casts(b)) return;
    const auto label = static_cast<std::int32_t>(b);
    append_wait(programs_.compute, OperationKind::copy_in, hook_called, costs_.launch_latency);
    if (casts(b))
      append_work(programs_.compute, OperationKind::copy_in,
                  kernels_.cast(buckets_[b].bytes, on_the_wire(b)), label);
    append_work(programs_.compute, OperationKind::copy_in, kernels_.copy(on_the_wire(b)), label);
  }

  void launch_local_used_map() {
    if (!result_.local_used_map) return;
    const EventId launched = new_event();
    const EventId passed = new_event();
    const EventId done = new_event();
    append_work(programs_.host, OperationKind::launch, costs_.host_launch);
    append_record(programs_.host, OperationKind::launch, launched);
    append_record(programs_.compute, OperationKind::copy_in, passed);
    append_wait(programs_.communication, OperationKind::local_used_map, launched,
                costs_.launch_latency);
    append_wait(programs_.communication, OperationKind::local_used_map, passed,
                costs_.event_latency + to_host_[*result_.local_used_map]);
    append_collective(programs_.communication, OperationKind::local_used_map,
                      *result_.local_used_map);
    append_record(programs_.communication, OperationKind::local_used_map, done);
    map_done_ = done;
  }

  /// static_graph's first iteration: backward alone, then the map, then copies and launches, bucket by
  /// bucket.
  void backward_then_launch() {
    const std::vector<GradientStretch>& gradients = recording_->gradients();
    Duration hooks;
    for (const GradientStretch& gradient : gradients) {
      compute_gradient(gradient, hooks);
      compute(gradient.idle);
      hooks += costs_.host_hook;
    }
    compute(recording_->after_last_gradient());
    if (!gradients.empty()) reach_on_host(gradients.back(), hooks);
    launch_local_used_map();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      append_work(programs_.compute, OperationKind::copy_in, copies_of(buckets_[b]),
                  static_cast<std::int32_t>(b));
      launch(b);
    }
  }

  /// Bucket by bucket: wait for its all-reduce, then copy its gradients out.
  void finalize() {
    const double share = recorded_share_of_copies_out();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const Duration returned = costs_.event_latency + to_device_[result_.bucket_collectives[b]];
      append_wait(programs_.compute, OperationKind::all_reduce, done_[b], returned);
      if (casts(b))
        append_wait(programs_.compute, OperationKind::copy_out, done_[b],
                    returned + kernels_.cast(on_the_wire(b), buckets_[b].bytes));
      copy_out(b, share);
    }
    wait_for_map();
    done_.clear();
  }

  /// Where a parameter was not used here the host must know, before it copies that one, whether it was used
  /// anywhere: it waits for the map and reads it back, once (finalize_bucket_dense).
  void copy_out(std::size_t b, double share) {
    const bool copies =
        !options_.ddp.gradient_as_bucket_view && buckets_[b].closed_by != ClosedBy::sparse;
    Duration modelled;
    const auto append = [&] {
      append_work(programs_.compute, OperationKind::copy_out,
                  std::exchange(modelled, Duration()).scaled(share), static_cast<std::int32_t>(b));
    };
    for (const std::size_t parameter : buckets_[b].parameters) {
      if (map_done_ && is_unused(parameter)) {
        append();
        wait_for_map(costs_.launch_latency + costs_.host_launch);
      }
      if (copies) modelled += copy_out_of(parameter);
    }
    append();
  }

  /// As long as nobody has; `round_trip`: what the host takes to read it and launch the next kernel.
  void wait_for_map(Duration round_trip = {}) {
    if (!map_done_) return;
    append_wait(programs_.compute, OperationKind::local_used_map, *std::exchange(map_done_, {}),
                costs_.event_latency + to_device_[*result_.local_used_map] + round_trip);
  }

  /// What nobody used keeps its gradient as it was (copy_bucket_to_grad).
  Duration copy_out_of(std::size_t parameter) const {
    return used_[parameter] ? copy_of(parameter) : Duration();
  }

  bool is_unused(std::size_t parameter) const {
    return std::ranges::find(recording_->unused(), parameter) != recording_->unused().end();
  }

  Duration copy_of(std::size_t parameter) const {
    return kernels_.copy(gradient_bytes(workload_.parameters[parameter]).value_or(Bytes()));
  }

  Duration copies_of(const Bucket& bucket) const {
    Duration total;
    for (const std::size_t parameter : bucket.parameters) total += copy_of(parameter);
    return total;
  }

  /// Recorded copies out replace the modelled ones as a whole, shared out over the buckets by the model.
  double recorded_share_of_copies_out() const {
    const std::optional<Duration> recorded = recording_->copies_out();
    Duration modelled;
    for (const Bucket& bucket : buckets_)
      if (bucket.closed_by != ClosedBy::sparse)
        for (const std::size_t parameter : bucket.parameters) modelled += copy_out_of(parameter);
    if (!recorded || modelled <= Duration()) return 1;
    return std::max(0.0, scaled(*recorded) / modelled);
  }

  void note_used(const Recorded& recorded) {
    for (const ReadyEvent& event : recorded.backward->ready) used_[event.parameter] = true;
  }

  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  const DdpCosts& costs_;
  const std::vector<Bucket>& buckets_;
  const StepKind kind_;
  const std::vector<RankState>& states_;
  const Cluster& cluster_;
  const KernelCosts kernels_;
  const std::vector<std::size_t> layers_;  ///< of SyncBatchNorm: their weights, in backward's order

  std::vector<std::int32_t> bucket_of_;  ///< by parameter; -1: outside DDP
  std::vector<std::int32_t> layer_of_;   ///< by parameter: into layers_; -1: none
  std::uint32_t statistics_ = 0;         ///< first of their collectives
  std::vector<bool> used_;               ///< by parameter: by any rank
  std::vector<std::uint32_t> rebuild_;   ///< collectives
  std::vector<std::uint32_t> buffers_;   ///< collectives, by buffer group
  std::vector<Duration> to_host_;        ///< by collective: copies around one that runs on the host
  std::vector<Duration> to_device_;

  // Of the class of ranks being written.
  std::optional<Recording> recording_;
  std::optional<std::vector<Duration>> recorded_launches_;
  std::vector<double> shares_of_forward_;  ///< by layer
  int batch_ = 0;                          ///< micro-batch
  double scale_ = 1;
  Duration offset_;  ///< start of its forward on the schedule's clock
  RankPrograms programs_;
  std::vector<EventId> done_;        ///< by bucket
  std::optional<EventId> map_done_;  ///< until it is waited for
  ReducerSchedule result_;
};

}  // namespace

ReducerSchedule schedule_step(const Job& job, const std::vector<Bucket>& buckets,
                              const StepKind& kind, const std::vector<RankState>& states) {
  DDPSIM_ASSERT(job.workload().backward.has_value(), "a schedule needs backward timing");
  return StepScheduler(job, buckets, kind, states).build();
}

}  // namespace ddpsim
