#include "stream_causes.hpp"

#include "summary.hpp"

namespace ddpsim {
namespace {

/// Cause of an operation on the compute stream, apart from waits for other ranks within it.
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

/// Whether the purpose is a copy or cast that runs while the step computes.
bool moves_gradients(OperationKind purpose) {
  return is_of_a_bucket(purpose) || purpose == OperationKind::pack;
}

}  // namespace

void StreamCauses::add(const Operation& operation, const OperationTime& time) {
  const OperationKind purpose = operation.purpose;
  if (hands_gradients_back(purpose)) {
    after_backward(purpose, time);
  } else if (operation.action != Action::work) {
    // In backward, only the host of a communication hook is waited for.
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

/// A wait in forward or backward for one collective. It counts for that collective, except the time
/// spent waiting for other ranks or for a copy before it.
void StreamCauses::standing_still(OperationKind purpose, const OperationTime& time) {
  Duration own = time.end - time.start;
  for_each_within(time, [&](TimePoint start, TimePoint end, const CollectiveInterval& interval) {
    if (interval.transfers()) return;
    loss_[interval.cause] += end - start;
    own -= end - start;
  });
  loss_[cause_of(purpose)] += own;
}

/// After backward, a copy out during a collective costs nothing of its own. Time before a
/// collective that was launched too late counts for the host, and time after the last one for
/// handing it back.
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
