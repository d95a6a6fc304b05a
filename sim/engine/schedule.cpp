#include "ddpsim/sim/engine/schedule.hpp"

namespace ddpsim {

std::string_view name_of(OperationKind purpose) {
  switch (purpose) {
    case OperationKind::forward:
      return "forward";
    case OperationKind::buffer_copy:
      return "buffer copies";
    case OperationKind::buffer_broadcast:
      return "buffer broadcast";
    case OperationKind::rebuild:
      return "rebuild buckets";
    case OperationKind::backward:
      return "backward";
    case OperationKind::copy_in:
      return "copy into bucket";
    case OperationKind::comm_hook:
      return "communication hook";
    case OperationKind::hook:
      return "gradient hooks";
    case OperationKind::launch:
      return "launch";
    case OperationKind::search_unused:
      return "search unused parameters";
    case OperationKind::all_reduce:
      return "all_reduce";
    case OperationKind::local_used_map:
      return "local-used map";
    case OperationKind::copy_out:
      return "copy out of bucket";
    case OperationKind::optimizer:
      return "optimizer";
    case OperationKind::sync_batch_norm:
      return "SyncBatchNorm";
    case OperationKind::model_averaging:
      return "model averaging";
    case OperationKind::all_gather:
      return "all_gather";
    case OperationKind::reduce_scatter:
      return "reduce_scatter";
    case OperationKind::broadcast:
      return "broadcast";
    case OperationKind::pack:
      return "pack, cast, unpack";
    case OperationKind::join:
      return "join";
    case OperationKind::host_copy:
      return "copy between host and GPU";
    case OperationKind::host_step:
      return "optimizer on the host";
  }
  return "";
}

}  // namespace ddpsim
