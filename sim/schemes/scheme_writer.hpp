// Writes the steps of all schemes except the reducer's. One class of ranks computes a recorded
// step. The step is cut at the scheme's hooks, which launch collectives on side streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel_costs.hpp"
#include "planned_step.hpp"
#include "rank_streams.hpp"
#include "scheme_rules.hpp"
#include "units.hpp"

namespace ddpsim {

class SchemeWriter {
 public:
  SchemeWriter(const Job& job, StepCollectives& collectives, const StepKind& kind,
               const RankClass& rank_class, const Recording& recording);

  RankStreams& streams() { return streams_; }
  const KernelCosts& kernels() const { return kernels_; }
  const Recording& recording() const { return recording_; }
  int micro_batches() const { return job_.options().accumulate; }
  /// Event at the start of the compute stream.
  EventId begun() const { return begun_; }

  /// Begins a micro-batch. `adds`: its gradients are added to existing ones, whose type is
  /// `gradients` if given, else their parameters'.
  void begin_batch(bool adds, std::optional<Dtype> gradients = {});
  /// Runs forward up to `share` of its work. Threads of one Python interpreter launch it for `gpus`
  /// GPUs in turn.
  void forward_to(double share, int gpus = 1);
  /// Runs backward until `gradient` exists, an index in the order in which gradients are written.
  void backward_to(std::size_t gradient);
  /// Runs backward up to the place where `hook` is called.
  void backward_to(const UnitHook& hook);
  /// Runs backward to its end.
  void end_backward();
  /// Runs the optimizer on the `share` of the parameters that this rank owns.
  void optimizer(double share);
  /// Runs no optimizer on this rank, because other ranks update all parameters.
  void leave_out_optimizer();
  /// Runs the optimizer of this rank's parameters on the host for the time `step`. It starts after
  /// the event `there`. If none is given, it starts after everything that compute has waited for.
  void optimizer_on_host(Duration step, std::optional<EventId> there = {});

  /// Adds new gradients to existing ones of `gradients` bytes.
  void accumulate(Bytes gradients);
  /// Runs an extra kernel on the compute stream, such as a copy or a cast. It has to be launched
  /// first.
  void pack(Duration kernel);
  /// Runs `count` extra kernels in the time `kernels`, which Python launches one by one.
  void pack_each(std::int64_t count, Duration kernels);

  /// A collective, launched by every class of ranks: the k-th one is the same for all. `done` is
  /// its end.
  struct Launched {
    EventId done;
    std::uint32_t collective;
  };
  /// Launches a collective. If the host computes, as with gloo, it waits until the collective ends.
  Launched launch(RankStreams::SideStream stream, const StepCollective& collective,
                  std::vector<EventId> ready,
                  RankStreams::Behind behind = RankStreams::Behind::event);
  /// Launches a collective with async_op=True: no host waits for it here.
  Launched launch_async(RankStreams::SideStream stream, const StepCollective& collective,
                        std::vector<EventId> ready,
                        RankStreams::Behind behind = RankStreams::Behind::event);
  /// Launches a collective after the current work of the compute stream, which then waits until it
  /// ends.
  void launch_and_wait(const StepCollective& collective, OperationKind behind);
  /// The host starts something that launches collectives by itself and does not hold up the host.
  /// Returns the event of that start.
  EventId call_launcher();
  /// Adds a collective that the launcher starts after the event `called`. The host never waits for
  /// it, even if the host computes.
  Launched launch_after(EventId called, RankStreams::SideStream stream,
                        const StepCollective& collective, std::vector<EventId> ready);
  /// Makes the compute stream wait until the collective has ended.
  void wait_for(const Launched& launched);
  /// Makes the compute stream wait for all of them, and clears the list.
  void wait_for_all(std::vector<Launched>& launched);

  /// Runs work on a side stream after the host has launched it.
  void run_on(RankStreams::SideStream stream, OperationKind purpose, Duration work);
  /// Copies `tensors` tensors between host and GPU on a side stream, in the time `copies`.
  void copy_on(RankStreams::SideStream stream, std::size_t tensors, Duration copies);

  /// Calls a hook that takes the host the time `hook`.
  void call_hook(Duration hook);
  /// The host waits for all work of compute. Compute has nothing to do until the host launches
  /// more.
  void read_on_host();

  /// The host waits for the event, then works for `work`.
  void hold_host(EventId there, Duration work = Duration());
  /// Compute waits until the host launches more.
  void hold_for_host();
  /// Launches copies of `tensors` tensors between host and GPU.
  void launch_copies(std::size_t tensors);

  RankStep finish();

 private:
  /// Sending to one rank and sending from one rank count as the same purpose.
  static OperationKind purpose_of(CollectiveKind kind);
  std::uint32_t planned(const StepCollective& collective);
  void pack(Duration kernels, Duration launch, std::int64_t count);
  /// Runs the interval's work up to `share` of it.
  void work_on(const GradientInterval& interval, double share);

  const Job& job_;
  StepCollectives& collectives_;
  const Recording& recording_;
  const KernelCosts kernels_;
  const Launches launches_;
  const bool every_gradient_;
  RankStreams streams_;
  EventId begun_ = 0;
  std::uint32_t launched_ = 0;
  Duration hooks_;  ///< since the last launch
  bool adds_ = false;
  OperationKind phase_ = OperationKind::forward;  ///< forward, backward or optimizer
  std::optional<Dtype> gradient_type_;
  double forward_ = 0;         ///< share that is done
  std::size_t gradients_ = 0;  ///< written in this micro-batch
  double share_ = 0;           ///< done of the next gradient's work
  RankStep written_;
};

/// Writes a scheme's step. `Writer(job, plan, collectives, kind, class, recording).write()` is
/// called for each class of ranks.
template <typename Writer, typename Plan>
PlannedStep write_classes(const StepToPlan& step, const Plan& plan) {
  StepCollectives collectives;
  return planned_step(
      step.job, step.states, collectives,
      [&](const RankClass& rank_class, const Recording& recording) {
        return Writer(step.job, plan, collectives, step.kind, rank_class, recording).write();
      });
}

}  // namespace ddpsim
