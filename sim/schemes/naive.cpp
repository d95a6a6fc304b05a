// Gradients all-reduced one by one: the baseline for DDP's buckets.
//
// With `gradient`, a hook per parameter launches its all-reduce as soon as the gradient is written.
// After backward, compute waits for all of them and divides the gradients.
//
// With `backward`, each gradient is all-reduced and waited for after backward, in the order of
// definition. Or all gradients are copied into one tensor, all-reduced and copied back.

#include <vector>

#include "scheme_writer.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

class NaiveWriter {
 public:
  NaiveWriter(const Job& job, const NaiveAllReduce& scheme, StepCollectives& collectives,
              const StepKind& kind, const RankClass& rank_class, const Recording& recording)
      : job_(job), scheme_(scheme), writer_(job, collectives, kind, rank_class, recording) {}

  RankStep write() {
    for (int batch = 0; batch < writer_.micro_batches(); ++batch) {
      writer_.begin_batch(batch > 0);
      writer_.forward_to(1);
      const bool last = batch + 1 == writer_.micro_batches();
      if (last && scheme_.when == NaiveAllReduce::When::gradient && !scheme_.flat)
        reduce_in_backward();
      else
        writer_.end_backward();
      if (last) reduce_after_backward();
    }
    writer_.optimizer(1);
    return writer_.finish();
  }

 private:
  using Launched = SchemeWriter::Launched;

  void reduce_in_backward() {
    for (std::size_t k = 0; k < writer_.recording().gradients(); ++k) {
      writer_.backward_to(k);
      const std::size_t parameter = writer_.recording().gradient(k).parameter;
      if (!job_.workload().parameters[parameter].ignored) launched_.push_back(launch(parameter));
    }
    writer_.end_backward();
  }

  void reduce_after_backward() {
    const std::vector<Parameter>& parameters = job_.workload().parameters;
    if (scheme_.flat) {
      Bytes all;
      for (std::size_t p = 0; p < parameters.size(); ++p)
        if (takes_part(p)) all += job_.gradients()[p];
      writer_.pack(writer_.kernels().copy(all));
      writer_.wait_for(launch("all gradients", all));
      writer_.pack(writer_.kernels().copy(all));
      return;
    }
    if (scheme_.when == NaiveAllReduce::When::backward) {
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        if (!takes_part(p)) continue;
        writer_.wait_for(launch(p));
        divide(p);
      }
      return;
    }
    for (std::size_t k = 0; k < launched_.size(); ++k) writer_.wait_for(launched_[k]);
    for (std::size_t p = 0; p < parameters.size(); ++p)
      if (takes_part(p)) divide(p);
  }

  /// Whether the parameter has a gradient to send.
  bool takes_part(std::size_t parameter) const {
    return is_reduced(job_.workload().parameters[parameter]) &&
           !writer_.recording().is_unused(parameter);
  }
  void divide(std::size_t parameter) {
    writer_.pack(writer_.kernels().copy(job_.gradients()[parameter]));
  }
  Launched launch(std::size_t parameter) {
    return launch(job_.workload().parameters[parameter].name, job_.gradients()[parameter]);
  }
  Launched launch(const std::string& name, Bytes bytes) {
    StepCollective collective =
        planned_collective(job_, CollectiveKind::all_reduce, bytes, kUnrecorded);
    collective.unit = name;
    const EventId written = writer_.streams().record_on_compute(OperationKind::backward);
    return writer_.launch_async({}, collective, {written});
  }

  const Job& job_;
  const NaiveAllReduce& scheme_;
  SchemeWriter writer_;
  std::vector<Launched> launched_;
};

PlannedStep schedule(const StepToPlan& step, const NaiveAllReduce& scheme) {
  return write_classes<NaiveWriter>(step, scheme);
}

}  // namespace

SchemeRules rules_of(const NaiveAllReduce& scheme) {
  return {.schedule = [&scheme](const StepToPlan& step) { return schedule(step, scheme); },
          .kept_in_memory = [&scheme](const Job& job) -> KeptInMemory {
            return WholeTensors{.gradients = scheme.flat ? all_gradients(job) : Bytes()};
          },
          .changed_numerics = same_numerics,
          .cannot_simulate = nothing_hinders,
          .rests_on = as_sure_as_ddp};
}

}  // namespace ddpsim
