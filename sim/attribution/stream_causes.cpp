#include "stream_causes.hpp"

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

}  // namespace

void StreamCauses::add(const Operation& operation, const OperationTime& time) {
  const OperationKind purpose = operation.purpose;
  if (hands_gradients_back(purpose)) {
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

/// In forward or backward, for one collective: what is no waiting for other ranks, or for a copy in front of it, is that
/// collective's.
void StreamCauses::standing_still(OperationKind purpose, const OperationTime& time) {
  Duration own = time.end - time.start;
  for_each_within(time, [&](TimePoint start, TimePoint end, const CollectiveInterval& interval) {
    if (interval.transfers()) return;
    loss_[interval.cause] += end - start;
    own -= end - start;
  });
  loss_[cause_of(purpose)] += own;
}

/// Copies out beside a collective cost nothing of their own. What lies before a collective that was launched
/// too late is the host's; what follows the last one hands it back.
void StreamCauses::after_backward(OperationKind purpose, const OperationTime& time) {
  const bool copies = purpose == OperationKind::copy_out;
  TimePoint reached = time.start;
  for_each_within(time, [&](TimePoint start, TimePoint end, const CollectiveInterval& interval) {
    loss_[copies ? LossCause::copies : LossCause::hooks] += start - reached;
    loss_[interval.cause] += end - start;
    reached = end;
  });
  loss_[cause_of(purpose)] += time.end - reached;
}

}  // namespace ddpsim
