// What rank 0's step takes beyond one GPU's without DDP, cause by cause: its compute stream is walked once, and each
// picosecond of it is work of the model's or belongs to one cause. What of the work is beyond one GPU's own is shared
// out in the end:
//
//   work = one GPU's  x  (1 + slowest GPU + unexplained)  x  straggler  x  jitter
#include <algorithm>
#include <vector>

#include "between_steps.hpp"
#include "collective_intervals.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// To what an operation of the compute stream belongs, but for the waits for other ranks within it.
LossCause cause_of(OperationKind purpose) {
  switch (purpose) {
    case OperationKind::buffer_copy:
    case OperationKind::buffer_broadcast:
      return LossCause::buffer_broadcast;
    case OperationKind::sync_batch_norm:
      return LossCause::sync_batchnorm;
    case OperationKind::model_averaging:
      return LossCause::model_averaging;
    case OperationKind::all_reduce:
      return LossCause::exposed_all_reduce;
    case OperationKind::local_used_map:
      return LossCause::used_map;
    case OperationKind::all_gather:
      return LossCause::exposed_all_gather;
    case OperationKind::reduce_scatter:
      return LossCause::exposed_reduce_scatter;
    case OperationKind::broadcast:
      return LossCause::exposed_broadcast;
    case OperationKind::pack:
    case OperationKind::copy_in:
    case OperationKind::comm_hook:
    case OperationKind::copy_out:
      return LossCause::copies;
    case OperationKind::host_copy:
    case OperationKind::host_step:
      return LossCause::offload;
    default:
      return LossCause::hooks;
  }
}

bool is_of_the_model(OperationKind purpose) {
  return purpose == OperationKind::forward || purpose == OperationKind::backward ||
         purpose == OperationKind::optimizer;
}

bool is_of_a_bucket(OperationKind purpose) {
  return purpose == OperationKind::copy_in || purpose == OperationKind::comm_hook;
}

/// Copies and casts of a step that computes meanwhile.
bool moves_gradients(OperationKind purpose) {
  return is_of_a_bucket(purpose) || purpose == OperationKind::pack;
}

/// After backward the compute stream waits for whatever is in flight, not for one collective alone.
bool is_after_backward(OperationKind purpose) {
  return purpose == OperationKind::all_reduce || purpose == OperationKind::local_used_map ||
         purpose == OperationKind::copy_out;
}

class ComputeWalk {
 public:
  explicit ComputeWalk(std::vector<CollectiveInterval> stretches)
      : stretches_(std::move(stretches)) {}

  void add(const Operation& operation, const OperationTime& time) {
    const OperationKind purpose = operation.purpose;
    if (is_after_backward(purpose)) {
      after_backward(purpose, time);
    } else if (operation.action != Action::work) {
      // In backward only a communication hook's host is waited for.
      if (waits_for_launch(operation))
        loss_[LossCause::launch_bound] += time.end - time.start;
      else if (is_of_a_bucket(purpose) || is_of_the_model(purpose))
        loss_[LossCause::hooks] += time.end - time.start;
      else
        standing_still(purpose, time);
    } else if (is_of_the_model(purpose) || moves_gradients(purpose)) {
      (is_of_the_model(purpose) ? work_ : loss_[LossCause::copies]) += operation.duration;
      loss_[LossCause::interference] += time.end - time.start - operation.duration;
    } else {
      loss_[cause_of(purpose)] += time.end - time.start;
    }
  }

  Duration work() const { return work_; }
  const Loss& loss() const { return loss_; }

 private:
  /// Calls `visit` with what of the stretches lies within, in order.
  template <typename Visit>
  void for_each_within(const OperationTime& time, Visit visit) {
    // Operations come in the order of time: what ended before one is past for all that follow.
    while (next_ < stretches_.size() && stretches_[next_].end <= time.start) ++next_;
    for (std::size_t i = next_; i < stretches_.size() && stretches_[i].start < time.end; ++i)
      visit(std::max(stretches_[i].start, time.start), std::min(stretches_[i].end, time.end),
            stretches_[i]);
  }

  /// In forward or backward, for one collective: what is no waiting for other ranks, or for a copy in front of it, is that
  /// collective's.
  void standing_still(OperationKind purpose, const OperationTime& time) {
    Duration own = time.end - time.start;
    for_each_within(time, [&](TimePoint start, TimePoint end, const CollectiveInterval& stretch) {
      if (stretch.transfers()) return;
      loss_[stretch.cause] += end - start;
      own -= end - start;
    });
    loss_[cause_of(purpose)] += own;
  }

  /// Copies out beside a collective cost nothing of their own. What lies before a collective that was launched
  /// too late is the host's; what follows the last one hands it back.
  void after_backward(OperationKind purpose, const OperationTime& time) {
    const bool copies = purpose == OperationKind::copy_out;
    TimePoint reached = time.start;
    for_each_within(time, [&](TimePoint start, TimePoint end, const CollectiveInterval& stretch) {
      loss_[copies ? LossCause::copies : LossCause::hooks] += start - reached;
      loss_[stretch.cause] += end - start;
      reached = end;
    });
    loss_[cause_of(purpose)] += time.end - reached;
  }

  const std::vector<CollectiveInterval> stretches_;
  std::size_t next_ = 0;
  Duration work_;
  Loss loss_;
};

/// Shares what a rank computes out; returns what of it is one GPU's own.
Duration share_out(Duration work, Duration ahead, const PlannedStep& planned, const Job& job,
                   Loss& loss) {
  const SimulationOptions& options = job.options();
  const Duration alike = work.scaled(1 / planned.slowdown);
  const Duration given =
      options.variation.jitter > 0 ? alike.scaled(steady_slowdown(options.variation, 0)) : work;
  loss[LossCause::straggler] += given - alike;
  loss[LossCause::jitter] += work - given;

  const SlowdownShares shares =
      slowdown_shares(options.rank_slowdown, job.cluster(), options.ddp.accumulate);
  const Duration here = alike - ahead;
  const Duration expected = here.scaled(1 / options.unexplained_compute);
  const Duration alone = expected.scaled(1 / shares.slowdown());
  const Duration slowest =
      shares.unexplained == 0 ? expected - alone : alone.scaled(shares.slowest_gpu);
  loss[LossCause::slowest_gpu] += slowest;
  loss[LossCause::unexplained] += here - alone - slowest;
  return alone;
}

}  // namespace

Loss attribute_loss(const PlannedStep& planned, const Execution& execution, const Job& job,
                    const StepTimes& times) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& operations = execution.ranks.front().compute;
  ComputeWalk walk(collective_intervals(planned, execution, job));
  for (std::size_t i = 0; i < program.size(); ++i)  // another rank may begin before this one
    walk.add(program[i], {std::max(operations[i].start, TimePoint()), operations[i].end});
  Loss loss = walk.loss();
  loss[LossCause::copies] += planned.copies_in_intervals;
  loss[LossCause::sharded_optimizer] -= planned.optimizer_left_out;

  // A recorded broadcast stands at the start of the recorded forward, which may run beside the step before.
  const Duration hidden = std::min(times.forward_ahead, planned.recorded_broadcast);
  loss[LossCause::buffer_broadcast] += planned.recorded_broadcast - hidden;
  loss[LossCause::copies] += planned.recorded_copies;
  const Duration alone =
      share_out(walk.work() + planned.optimizer_left_out - planned.copies_in_intervals -
                    planned.recorded_broadcast - planned.recorded_copies - planned.accumulated,
                times.forward_ahead - hidden, planned, job, loss);
  const Duration computed = alone + planned.accumulated + pause_after_step(job, job.workload());
  // One GPU by itself waits for the model's launches, too, as recorded, and longer where nothing else gives the host time.
  const Duration by_itself =
      std::max(computed + planned.recorded_waits, planned.host.value_or(HostTime()).model);
  loss[LossCause::launch_bound] -= by_itself - computed;
  DDPSIM_ASSERT(times.iteration - loss.total() == by_itself, "a step is one GPU's and what is lost",
                times.iteration, loss.total(), by_itself);
  return loss;
}

std::string_view name_of(LossCause cause) {
  constexpr std::array<std::string_view, kLossCauses> kNames = {"copies",
                                                                "hooks",
                                                                "interference",
                                                                "slowest_gpu",
                                                                "straggler",
                                                                "jitter",
                                                                "exposed_all_reduce",
                                                                "used_map",
                                                                "buffer_broadcast",
                                                                "sync_batchnorm",
                                                                "model_averaging",
                                                                "exposed_all_gather",
                                                                "exposed_reduce_scatter",
                                                                "exposed_broadcast",
                                                                "sharded_optimizer",
                                                                "offload",
                                                                "launch_bound",
                                                                "input",
                                                                "unexplained"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace ddpsim
