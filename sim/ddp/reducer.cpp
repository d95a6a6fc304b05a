// A step, stream by stream.
//
// The compute stream runs:
// - the buffer broadcast, if there is one, and forward;
// - in backward, each gradient and then its copy into the bucket;
// - the copies out, bucket by bucket as each all-reduce ends;
// - the optimizer.
//
// The host runs ahead of the GPU and calls a hook per gradient. When all gradients of the next
// bucket in order are there, it launches that bucket and any complete buckets after it.
//
// The communication stream reduces one bucket after the other. A bucket starts after its launch,
// after the compute stream has passed the point of that launch, and after the bucket before it has
// ended.
//
// A communication hook (comm_hook.hpp) adds kernels to the compute stream at the launch. What
// follows its all-reduce runs on a stream of its own as soon as the all-reduce has ended, and the
// copies out wait for it. If the host waits for the device in the hook (power_sgd.hpp), the compute
// stream has nothing else to do. All streams of such a hook are therefore drawn as the compute
// stream.
//
// What the recording already contains is not added again: copies into buckets when DDP hooks were
// recorded, buffer broadcasts, and host launch times of the same buckets. What it contains but the
// options forbid (copies under no_sync) is removed.

#include "reducer.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"
#include "finalize_backward.hpp"
#include "optimizer_in_backward.hpp"
#include "rank_classes.hpp"
#include "rank_streams.hpp"
#include "recording.hpp"
#include "step_plan.hpp"
#include "sync_batch_norm.hpp"

namespace ddpsim {
namespace {

/// First version in which the copy into the bucket also divides by the world size (mul_out). Older
/// versions divide the full bucket in place. Reducer sources with and without bucket views were
/// read; 1.6 and 1.7 are uncertain.
constexpr TorchVersion kDividesWhileCopying{1, 7};

class StepScheduler {
 public:
  StepScheduler(const StepPlan& step, const StepKind& kind, const RankClass& rank_class,
                const Recording& recording)
      : step_(step),
        kind_(kind),
        workload_(step.job.workload()),
        ddp_(step.ddp()),
        micro_batches_(step.job.options().accumulate),
        costs_(step.job.options().costs),
        buckets_(step.buckets),
        kernels_(step.kernels),
        recording_(recording),
        launches_(recording_.launches().value_or(Launches())),
        recorded_launches_(recording_.instants_launched(buckets_)),
        shares_of_forward_(shares_of_forward(recorded_by(workload_, rank_class.rank), step.layers)),
        streams_(step.job, step.collectives, kind, rank_class, recording_.gradients(),
                 buckets_.size()) {
    written_.ready_operation.assign(buckets_.size(), 0);
    written_.launch_operation.assign(buckets_.size(), 0);
    work_.stepped.resize(buckets_.size());
    if (!streams_.in_intervals()) written_.gradients.reserve(recording_.gradients());
  }

  RankStep write() {
    tell_inputs();
    // Blocking copies from device to host take a round trip of the host.
    for (const std::uint32_t index : step_.rebuild)
      streams_.blocking_collective(OperationKind::rebuild, index,
                                   costs_.launch_latency + costs_.host_launch);
    agree_on_buffers();
    broadcast_buffers();
    tell_reducing();
    for (batch_ = 0; batch_ + 1 < micro_batches_; ++batch_) {
      forward(batch_ == 0);
      backward_without_sync();
      tell_inputs();
      tell_reducing();
    }
    forward(micro_batches_ == 1);
    search_unused();
    if (kind_.delay_launch)
      backward_then_launch();
    else
      backward_with_sync();
    const Duration stepped = finalize_backward(step_, recording_, work_, streams_);
    if (ddp_.optimizer_in_backward) {
      step_others(step_, recording_, launches_, streams_);
    } else if (step_.steps_by_bucket) {
      streams_.note_kernels(OperationKind::optimizer, launches_.optimizer);
      written_.optimizer_left_out = scaled(recording_.optimizer()) - stepped;
    } else {
      optimizer();
      broadcast_parameters();
    }
    if (const auto& averaging = step_.averaging)
      streams_.compute(OperationKind::model_averaging, averaging->of_a_step());
    written_.start = streams_.start();
    written_.awaited = streams_.take_awaited();
    written_.host = streams_.host_time();
    written_.recorded_waits = streams_.recorded_waits();
    written_.copies_in_intervals = streams_.copies_in_intervals();
    note_recorded_buffers();
    written_.programs = streams_.take();
    return std::move(written_);
  }

 private:
  /// Join's first collective of a forward. The host does not wait for it here.
  void tell_inputs() {
    if (step_.join.empty()) return;
    const StepPlan::JoinNotices& notices = step_.join[joined_];
    streams_.host(OperationKind::launch, costs_.host_launch);
    ranks_told_ = streams_.collective(OperationKind::join, notices.not_joined);
    if (notices.early_termination)
      streams_.reduce_and_read(OperationKind::join, *notices.early_termination);
  }
  void agree_on_buffers() {
    if (!step_.join.empty() && step_.join.front().common_rank)
      streams_.reduce_and_read(OperationKind::join, *step_.join.front().common_rank);
  }
  void tell_reducing() {
    if (step_.join.empty()) return;
    streams_.host(OperationKind::launch, costs_.host_launch);
    streams_.collective(OperationKind::join, step_.join[joined_++].backward_reduces);
  }
  /// Called by the first hook if gradients are divided by the number of ranks that have inputs.
  void read_divisor() {
    const auto& inputs = step_.job.options().uneven_inputs;
    if (!inputs || inputs->divide_by_initial_world_size) return;
    streams_.hold_compute(OperationKind::join, ranks_told_, costs_.event_latency);
    streams_.read(OperationKind::join);
  }

  /// For each dtype: one flatten kernel, the broadcast, and one copy back per buffer. A trace of a
  /// one-rank job has the copies back on rank 0 too, so every rank does the same.
  void broadcast_buffers() {
    if (!step_.broadcasts_buffers()) return;
    for (std::size_t g = 0; g < workload_.buffers.size(); ++g) {
      const BufferGroup& group = workload_.buffers[g];
      streams_.launch(OperationKind::buffer_copy, costs_.host_copy_kernel, 1 + group.tensors);
      if (!recording_.has_hooks())
        streams_.compute(OperationKind::buffer_copy, kernels_.flatten(group));
      if (!step_.buffers.empty())
        streams_.blocking_collective(OperationKind::buffer_broadcast, step_.buffers[g],
                                     costs_.event_latency);
      if (!recording_.has_hooks())
        streams_.compute(OperationKind::buffer_copy, kernels_.unflatten(group));
    }
  }

  /// Steps a rank's parameters: all of them, except under ZeroRedundancyOptimizer.
  void optimizer() {
    const Duration all = recording_.optimizer();
    const Duration own = step_.stepped_share < 1 ? all.scaled(step_.stepped_share) : all;
    launched(OperationKind::optimizer, launches_.optimizer, own, recording_.waited_in_optimizer());
    written_.optimizer_left_out = scaled(all) - scaled(own);
  }

  /// Launches all broadcasts at once, then waits for them.
  void broadcast_parameters() {
    constexpr auto purpose = OperationKind::broadcast;
    std::vector<EventId> done;
    for (const std::uint32_t index : step_.parameter_broadcasts)
      done.push_back(streams_.launch_on({}, purpose, index,
                                        {streams_.record_on_compute(OperationKind::optimizer)},
                                        costs_.host_launch, -1));
    for (std::size_t i = 0; i < done.size(); ++i)
      streams_.hold_compute_for(purpose, done[i], step_.parameter_broadcasts[i]);
  }

  void note_recorded_buffers() {
    if (!ddp_.broadcast_buffers) return;
    const Duration all = scaled(recording_.forward(true)) - scaled(recording_.forward(false));
    written_.recorded_broadcast = std::min(scaled(recording_.buffer_broadcast()), all);
    written_.recorded_copies = all - written_.recorded_broadcast;
  }

  /// Buffers are broadcast only before the forward after a synchronised backward.
  void forward(bool after_sync) {
    const bool with_buffers = after_sync && ddp_.broadcast_buffers;
    const Duration total = recording_.forward(with_buffers);
    const Duration waited = recording_.waited_in_forward();
    double done = 0;
    const auto kernels_until = [&](double share) {
      return static_cast<std::int64_t>(share * static_cast<double>(launches_.forward));
    };
    const auto go_on_to = [&](double share) {
      if (share <= done) return;
      const auto between = [&](Duration all) { return all.scaled(share) - all.scaled(done); };
      const std::int64_t kernels = kernels_until(share) - kernels_until(done);
      streams_.wait_as_recorded(OperationKind::forward, kernels, between(total), between(waited));
      streams_.launched(OperationKind::forward, kernels, between(scaled(total)));
      done = share;
    };
    for (std::size_t k = step_.layers.size(); k-- > 0;) {
      go_on_to(shares_of_forward_[k]);
      streams_.exchange(step_.all_gather_of(k, batch_), kStatisticsKernels);
      streams_.read_on_host(blocking_reads(step_.job.options().torch), kNormalisationKernels);
    }
    go_on_to(1);
  }

  /// Exchanges the sums over a SyncBatchNorm layer when backward reaches its weight.
  void exchange_in_backward(std::size_t parameter) {
    if (const std::int32_t layer = step_.layer_of[parameter]; layer >= 0)
      streams_.exchange(step_.all_gather_of(static_cast<std::size_t>(layer), batch_) + 1,
                        kSumsKernels);
  }

  /// The host walks the autograd graph at the end of a forward whose backward will be synchronised.
  void search_unused() {
    if (step_.searches_unused())
      streams_.host(OperationKind::search_unused,
                    costs_.host_search_per_parameter *
                        static_cast<std::int64_t>(workload_.parameters.size()));
  }

  /// A backward under no_sync. Hooks return at once, so it is one piece of work, interrupted only
  /// by SyncBatchNorm. From the second micro-batch on, autograd adds each gradient to the existing
  /// one.
  void backward_without_sync() {
    Duration total;
    std::int64_t kernels = 0;
    const auto wait = [&](std::int64_t launches, Duration work, Duration waited) {
      streams_.wait_as_recorded(OperationKind::backward, launches, work, waited);
    };
    for (std::size_t k = 0; k < recording_.gradients(); ++k) {
      const GradientInterval gradient = recording_.gradient(k);
      total += scaled(gradient.compute + gradient.idle);
      wait(gradient.kernels, gradient.compute + gradient.idle,
           gradient.waited + gradient.waited_copy);
      kernels += gradient.kernels;
      if (batch_ > 0) total += accumulate(gradient);
      if (step_.layer_of[gradient.parameter] < 0) continue;
      streams_.launched(OperationKind::backward, std::exchange(kernels, 0),
                        std::exchange(total, Duration()));
      exchange_in_backward(gradient.parameter);
    }
    wait(0, recording_.after_last_gradient(), recording_.waited_after_last());
    streams_.launched(OperationKind::backward, kernels,
                      total + scaled(recording_.after_last_gradient()));
  }

  /// Computes a gradient and, if earlier micro-batches left one in .grad, adds it there. `hooks` is
  /// the host time of hooks since the host last waited.
  void compute_gradient(const GradientInterval& gradient, Duration& hooks) {
    const std::int32_t bucket = step_.bucket_of[gradient.parameter];
    launched(OperationKind::backward, gradient.kernels, gradient.compute, gradient.waited, bucket);
    if (recording_.has_host())
      streams_.hold_gradient_until(on_host(std::min(gradient.host, gradient.at), gradient));
    if (step_.layer_of[gradient.parameter] >= 0) reach_on_host(gradient, hooks);
    exchange_in_backward(gradient.parameter);
    if (micro_batches_ > 1) streams_.compute(OperationKind::backward, accumulate(gradient));
    if (!streams_.in_intervals())
      written_.gradients.push_back({gradient.parameter, streams_.last_on_compute()});
    if (bucket >= 0) note_ready(bucket);
  }

  Duration accumulate(const GradientInterval& gradient) {
    streams_.launch(OperationKind::backward, costs_.host_copy_kernel, 1);
    const Duration kernel = kernels_.accumulate(gradient.bytes);
    written_.accumulated += kernel;
    return kernel;
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
    for (std::size_t k = 0; k < recording_.gradients(); ++k) {
      const GradientInterval gradient = recording_.gradient(k);
      step_buckets_before(k);
      compute_gradient(gradient, hooks);
      const std::int32_t bucket = step_.bucket_of[gradient.parameter];
      if (bucket < 0) continue;
      if (first_hook) read_divisor();
      if (first_hook) hooks_of_unused(pending);
      first_hook = false;
      launched(OperationKind::backward, 0, gradient.idle, gradient.waited_copy, bucket);
      streams_.compute(OperationKind::copy_in, copy_into_bucket(gradient), bucket);
      call_hook(hooks);
      if (--pending[static_cast<std::size_t>(bucket)] == 0) divide(bucket);
      if (!next_is_complete(next_bucket)) continue;
      reach_on_host(gradient, hooks);
      while (next_is_complete(next_bucket)) launch(next_bucket++, gradient);
      if (next_bucket == buckets_.size()) launch_local_used_map();  // by the last bucket's hook
    }
    after_last_gradient();
    if (next_bucket == buckets_.size()) return;
    const GradientInterval last = recording_.gradient(recording_.gradients() - 1);
    while (next_bucket < buckets_.size()) launch(next_bucket++, last);
    launch_local_used_map();
  }

  /// Steps buckets that rank 0 has reduced by now. Another rank may write its gradients in another
  /// order.
  void step_buckets_before(std::size_t gradient) {
    for (std::size_t b = 0; b < kind_.steps_before.size() && b < work_.buckets.size(); ++b) {
      if (kind_.steps_before[b] != gradient) continue;
      step_bucket(step_, recording_, b, OperationKind::comm_hook, work_, streams_);
      work_.stepped[b] = true;
    }
  }

  Duration copy_into_bucket(const GradientInterval& gradient) const {
    return recording_.has_hooks() ? scaled(gradient.copy) : step_.copies[gradient.parameter];
  }

  /// Divides the whole bucket in one kernel, in versions that do not divide while copying.
  void divide(std::int32_t bucket) {
    if (step_.job.options().torch >= kDividesWhileCopying || recording_.has_hooks()) return;
    streams_.compute(OperationKind::copy_in,
                     kernels_.copy(buckets_[static_cast<std::size_t>(bucket)].bytes), bucket);
  }

  /// Parameters unused in the forward become ready at the first hook, which fills their slices with
  /// zeros.
  void hooks_of_unused(std::vector<std::size_t>& pending) {
    for (const std::size_t parameter : recording_.unused()) {
      const std::int32_t bucket = step_.bucket_of[parameter];
      const Bytes bytes = step_.job.gradients()[parameter];
      note_ready(bucket);
      --pending[static_cast<std::size_t>(bucket)];
      if (recording_.has_hooks()) continue;
      streams_.launch(OperationKind::copy_in, costs_.host_copy_kernel, 1);
      streams_.compute(OperationKind::copy_in, kernels_.zero_fill(bytes), bucket);
    }
  }

  /// Notes that the gradient just computed is the last one of its bucket so far.
  void note_ready(std::int32_t bucket) {
    written_.ready_operation[static_cast<std::size_t>(bucket)] = streams_.last_on_compute();
  }

  /// Calls a gradient's hook. The host does so at once if kernels wait for it or if it computes.
  /// Otherwise hooks are added up until the next bucket is launched.
  void call_hook(Duration& hooks) {
    hooks += costs_.host_hook;
    if (streams_.waits_for_launches() || streams_.host_computes())
      streams_.host(OperationKind::hook, std::exchange(hooks, Duration()));
  }

  /// The host runs the hooks since the last launch and reaches this gradient.
  void reach_on_host(const GradientInterval& gradient, Duration& hooks) {
    streams_.host(OperationKind::hook, std::exchange(hooks, Duration()));
    if (!streams_.waits_for_launches())
      wait_on_host_until(gradient.host, gradient, OperationKind::hook, -1);
  }

  /// Holds the host until `recorded`, a time on the backward clock near this gradient.
  void wait_on_host_until(Duration recorded, const GradientInterval& gradient,
                          OperationKind purpose, std::int32_t bucket) {
    streams_.hold_host_until(on_host(recorded, gradient), purpose, bucket);
  }

  /// Converts a time on the backward clock to the host's time since the start of the step. The host
  /// keeps its recorded pace on any GPU, unless the recorded GPU held it up or launches now take
  /// longer. If no host was recorded, it is assumed to be as far ahead on any GPU.
  Duration on_host(Duration recorded, const GradientInterval& gradient) const {
    const Duration forward = recording_.recorded_forward();
    const Duration before = scaled((forward + recording_.backward()) * (micro_batches_ - 1));
    if (!recording_.has_host()) return before + scaled(forward + recorded);
    const Duration written = forward + gradient.at;
    const Duration sooner = std::max(written - scaled(written), Duration());
    return before + forward + recorded - std::min(gradient.held, sooner) - streams_.host_sooner();
  }

  /// Launches a bucket when the host is at this gradient.
  void launch(std::size_t b, const GradientInterval& gradient) {
    const auto label = static_cast<std::int32_t>(b);
    const BucketHook& hook = step_.hooks[b];
    EventId hook_called = 0;
    if (ddp_.comm_hook != CommHook::none) {
      streams_.host(OperationKind::launch, costs_.host_comm_hook, label);
      // The hook enqueues its kernels before its all-reduce, so a late host delays both.
      hook_called = streams_.record_on_host(OperationKind::launch);
    }
    if (hook.waits) {
      reduce_and_wait(b, hook_called);
      return;
    }
    if (!hook.stages.front().collective) {  // the hook hands the bucket back
      written_.launch_operation[b] = streams_.host_operations();
      work_.buckets.push_back(streams_.record_on_host(OperationKind::launch));
      return;
    }
    if (recorded_launches_ && !streams_.waits_for_launches())
      wait_on_host_until((*recorded_launches_)[b], gradient, OperationKind::launch, label);
    else
      streams_.host(OperationKind::launch, costs_.host_launch, label);
    written_.launch_operation[b] = streams_.host_operations();
    compress(b, hook_called);
    work_.buckets.push_back(
        streams_.collective(OperationKind::all_reduce, *hook.stages.front().collective, label));
    if (ddp_.optimizer_in_backward)
      streams_.host(OperationKind::launch, host_time_of_steps(step_, b), label);
  }

  void reduce_and_wait(std::size_t b, EventId hook_called) {
    const auto label = static_cast<std::int32_t>(b);
    const BucketHook& hook = step_.hooks[b];
    streams_.hold_compute(OperationKind::comm_hook, hook_called, costs_.launch_latency);
    run(hook.before, label);
    for (const HookStage& stage : hook.stages) {
      streams_.host(OperationKind::launch, costs_.host_launch, label);
      if (&stage == &hook.stages.front()) written_.launch_operation[b] = streams_.host_operations();
      if (stage.collective) streams_.collective_and_wait(*stage.collective, label);
      run(stage.then, label);
    }
    streams_.wait_for_device();
    run(hook.after, label);
  }
  void run(const HookWork& work, std::int32_t bucket) {
    streams_.launched_by_hook(work.kernels, work.host, bucket);
  }

  /// Whether the recorded copies into buckets already contain the hook's casts.
  bool recorded_casts(std::size_t b) const {
    const Dtype wire = wire_dtype(ddp_, buckets_[b].dtype);
    return recording_.has_hooks() && casts(ddp_, buckets_[b].dtype, buckets_[b].bytes) &&
           recording_.wire() == wire;
  }
  void compress(std::size_t b, EventId hook_called) {
    if (ddp_.comm_hook == CommHook::none || recorded_casts(b)) return;
    const auto label = static_cast<std::int32_t>(b);
    streams_.hold_compute(OperationKind::comm_hook, hook_called, costs_.launch_latency);
    for (const Duration kernel : step_.hooks[b].before.kernels)
      streams_.compute(OperationKind::comm_hook, kernel, label);
  }

  /// First copies the host's map to the device.
  void launch_local_used_map() {
    if (!step_.local_used_map) return;
    streams_.launch(OperationKind::copy_in, costs_.host_copy_kernel, 1);
    streams_.compute(OperationKind::copy_in,
                     kernels_.copy(step_.collectives[*step_.local_used_map].scheduled.size));
    streams_.host(OperationKind::launch, costs_.host_launch);
    work_.local_used_map =
        streams_.collective(OperationKind::local_used_map, *step_.local_used_map);
  }

  /// First iteration with static_graph: backward runs alone, then the map, all copies and all
  /// launches follow (delay_all_reduce).
  void backward_then_launch() {
    Duration hooks;
    GradientInterval gradient{};
    for (std::size_t k = 0; k < recording_.gradients(); ++k) {
      gradient = recording_.gradient(k);
      compute_gradient(gradient, hooks);
      launched(OperationKind::backward, 0, gradient.idle, gradient.waited_copy);
      call_hook(hooks);
    }
    after_last_gradient();
    reach_on_host(gradient, hooks);
    launch_local_used_map();
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      streams_.compute(OperationKind::copy_in, step_.copies_of(b), static_cast<std::int32_t>(b));
    for (std::size_t b = 0; b < buckets_.size(); ++b) launch(b, gradient);
  }

  void after_last_gradient() {
    launched(OperationKind::backward, 0, recording_.after_last_gradient(),
             recording_.waited_after_last());
  }
  /// Adds kernels with their recorded work and waits.
  void launched(OperationKind purpose, std::int64_t kernels, Duration work, Duration waited,
                std::int32_t bucket = -1) {
    streams_.wait_as_recorded(purpose, kernels, work, waited);
    streams_.launched(purpose, kernels, scaled(work), bucket);
  }
  Duration scaled(Duration recorded) const { return streams_.scaled(recorded); }

  const StepPlan& step_;
  const StepKind& kind_;
  const Workload& workload_;
  const DdpOptions& ddp_;
  const int micro_batches_;
  const DdpCosts& costs_;
  const std::vector<Bucket>& buckets_;
  const KernelCosts& kernels_;
  const Recording& recording_;
  const Launches launches_;
  const std::optional<std::vector<Duration>> recorded_launches_;
  const std::vector<double> shares_of_forward_;  ///< by layer
  RankStreams streams_;
  int batch_ = 0;           ///< micro-batch
  std::size_t joined_ = 0;  ///< Join notices of earlier micro-batches
  EventId ranks_told_ = 0;
  WorkInFlight work_;
  RankStep written_;
};

}  // namespace

PlannedStep schedule_reducer(const StepToPlan& asked) {
  const Job& job = asked.job;
  DDPSIM_ASSERT(job.workload().backward.has_value(), "a schedule needs backward timing");
  StepPlan step = plan_step(job, asked.buckets, asked.kind);
  bool reads_map = false;
  PlannedStep result =
      planned_step(job, asked.states, step.collectives,
                   [&](const RankClass& rank_class, const Recording& recording) {
                     reads_map = reads_map || (step.local_used_map && !recording.unused().empty());
                     return StepScheduler(step, asked.kind, rank_class, recording).write();
                   });
  result.schedule.in_flight = {.groups = job.options().ddp().process_groups,
                               .threads = collectives_at_a_time(job),
                               .to_fill = collectives_to_fill(job)};
  for (const BucketHook& hook : step.hooks) {
    BucketCollectives& bucket = result.buckets.emplace_back();
    for (const HookStage& stage : hook.stages) {
      bucket.sizes.push_back(stage.bytes);
      if (stage.collective) bucket.collectives.push_back(*stage.collective);
    }
  }
  result.waits_behind_backward = true;
  result.hook_waits = stops_backward(job.options().ddp().comm_hook);
  const auto& inputs = job.options().uneven_inputs;
  const bool reads_inputs =
      inputs && (inputs->throw_on_early_termination || !inputs->divide_by_initial_world_size ||
                 step.join.front().common_rank.has_value());
  result.host_reads = !step.layers.empty() || reads_map || reads_inputs;
  result.averaging = step.averaging;
  result.parameter_broadcasts = step.parameter_broadcasts;
  result.local_used_map = step.local_used_map;
  return result;
}

}  // namespace ddpsim
