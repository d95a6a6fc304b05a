// What the schedules of all schemes but the reducer's have in common: one class of ranks computes a recorded step, cut
// where a scheme's hooks come between, and launches collectives on streams beside it.
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
  /// The first thing on the compute stream.
  EventId begun() const { return begun_; }

  /// A micro-batch begins. `adds`: to gradients that are there, of this type where it is not their parameters'.
  void begin_batch(bool adds, std::optional<Dtype> gradients = {});
  /// Forward goes on to this share of it. Threads of one interpreter launch it for so many GPUs.
  void forward_to(double share, int gpus = 1);
  /// Backward goes on until that gradient, in the order written, is there.
  void backward_to(std::size_t gradient);
  /// Backward goes on to where that hook is called.
  void backward_to(const UnitHook& hook);
  /// To its end.
  void end_backward();
  /// On so much of the parameters as this rank steps.
  void optimizer(double share);
  /// Others step all of the parameters.
  void leave_out_optimizer();
  /// The host steps what this rank does, behind an event, else behind all that compute has waited for; it takes so long.
  void optimizer_on_host(Duration step, std::optional<EventId> there = {});

  /// Adds to gradients of so many bytes that are there.
  void accumulate(Bytes gradients);
  /// A kernel beside compute's own: a copy or cast that compute waits behind, and which waits to be launched.
  void pack(Duration kernel);

  /// A collective as all classes of ranks launch it, the k-th of each being the same one. Its end.
  struct Launched {
    EventId done;
    std::uint32_t collective;
  };
  /// A host that computes itself stands until then, as gloo's collectives have it …
  Launched launch(RankStreams::Beside stream, const StepCollective& collective,
                  std::vector<EventId> ready,
                  RankStreams::Behind behind = RankStreams::Behind::event);
  /// … unless they are called with async_op=True, and waited for later.
  Launched launch_async(RankStreams::Beside stream, const StepCollective& collective,
                        std::vector<EventId> ready,
                        RankStreams::Behind behind = RankStreams::Behind::event);
  /// Compute hands over to it, behind what it has done by now, and goes on when it has ended.
  void launch_and_wait(const StepCollective& collective, OperationKind behind);
  /// The host calls something that launches collectives by itself, without holding it up. When it is called.
  EventId call_launcher();
  /// Such a collective. It holds nobody up, whoever computes.
  Launched launch_after(EventId called, RankStreams::Beside stream,
                        const StepCollective& collective, std::vector<EventId> ready);
  /// The compute stream goes on when it has ended.
  void wait_for(const Launched& launched);
  /// … when all of them have, which are forgotten.
  void wait_for_all(std::vector<Launched>& launched);

  /// Work on a stream beside compute that waits to be launched.
  void run_on(RankStreams::Beside stream, OperationKind purpose, Duration work);
  /// The same of copies of so many tensors between host and GPU.
  void copy_on(RankStreams::Beside stream, std::size_t tensors, Duration copies);

  /// The host is called, which takes it so long.
  void call_hook(Duration hook);
  /// The host waits for all that compute has done, which has nothing to do until more is launched.
  void read_on_host();

  /// The host waits until the GPU has come there, and then works so long …
  void hold_host(EventId there, Duration work = Duration());
  /// … and the GPU has nothing to do until it launches more.
  void hold_for_host();
  /// So many tensors are copied between host and GPU.
  void launch_copies(std::size_t tensors);

  RankStep finish();

 private:
  /// What is sent to one rank counts with what is sent from one.
  static OperationKind purpose_of(CollectiveKind kind);
  std::uint32_t planned(const StepCollective& collective);
  void work_on(const GradientInterval& stretch, double share);

  const Job& job_;
  StepCollectives& collectives_;
  const Recording& recording_;
  const KernelCosts kernels_;
  const Launches launches_;
  const bool every_gradient_;
  RankStreams streams_;
  EventId begun_ = 0;
  std::uint32_t launched_ = 0;
  Duration hooks_;  ///< called since the last launch
  bool adds_ = false;
  OperationKind phase_ = OperationKind::forward;  ///< or backward, or the optimizer
  std::optional<Dtype> gradient_type_;
  double forward_ = 0;         ///< share that is done
  std::size_t gradients_ = 0;  ///< written in this micro-batch …
  double share_ = 0;           ///< … and of the work up to the next one, done
  RankStep written_;
};

/// A scheme's step: each class of ranks as `Writer(job, plan, collectives, kind, class, recording).write()` writes it.
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
