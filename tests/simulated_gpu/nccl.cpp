// NCCL as far as ddpsim-real uses it, plus non-blocking initialisation with a configuration, and
// groups.
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "collectives.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

/// One rank's handle.
struct ncclComm {
  int communicator;
  int rank;
  bool blocking;
  bool in_use;
};

namespace {

constexpr char kIdFormat[] = "simulated %ld";

/// Reads the variable like NCCL 2.30 and later.
bool ranks_may_share_gpus() {
  const char* text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return text != nullptr && std::strtoll(text, nullptr, 0) != 0;
}

/// Threads must not share NCCL's communicators. Either of two concurrent calls may complete work
/// that the other left. Only abort may come at any moment.
class InUse {
 public:
  InUse(ncclComm_t handle, const char* call) : handle_(handle) {
    if (std::exchange(handle->in_use, true))
      give_up("%s while another thread is in a call of the same communicator", call);
  }
  ~InUse() { handle_->in_use = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  ncclComm_t handle_;
};

Communicator& communicator_of(ncclComm_t handle) {
  return machine().communicators[handle->communicator];
}

bool all_joined(ncclComm_t handle) {
  return communicator_of(handle).joined >= communicator_of(handle).ranks;
}

/// Launches between ncclGroupStart and ncclGroupEnd happen at its end.
thread_local int groups_open = 0;
thread_local std::vector<std::function<ncclResult_t()>> in_group;

ncclResult_t now_or_in_group(std::function<ncclResult_t()> launch) {
  if (groups_open == 0) return launch();
  in_group.push_back(std::move(launch));
  return ncclSuccess;
}

std::int64_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
    case ncclInt64:
    case ncclUint64:
      return 8;
    case ncclFloat32:
    case ncclInt32:
    case ncclUint32:
      return 4;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    default:
      return 1;
  }
}

/// Elements of a rank's input and output. `all` is the size of the whole collective.
struct Sizes {
  std::size_t given;
  std::size_t got;
  std::size_t all;
};

ncclResult_t collective(Asked asked, const Sizes& sizes, const void* from, void* to,
                        ncclComm_t handle, cudaStream_t to_stream) {
  const InUse in_use(handle, "a collective is launched");
  const Call call(machine().settings.collective_launch_ns);
  if (!all_joined(handle)) return ncclInvalidUsage;
  if (machine().settings.dying_rank == handle->rank &&
      machine().settings.last_collective == communicator_of(handle).launched[handle->rank])
    die();
  const std::int64_t element = size_of(static_cast<ncclDataType_t>(asked.dtype));
  const auto bytes = [&](std::size_t count) { return static_cast<std::int64_t>(count) * element; };
  auto* const stream = reinterpret_cast<Stream*>(to_stream);
  asked.bytes = bytes(sizes.all);
  Operation operation{};
  operation.communicator = handle->communicator;
  operation.rank = handle->rank;
  operation.stream = static_cast<int>(stream - machine().streams);
  operation.reads = {static_cast<std::byte*>(const_cast<void*>(from)), bytes(sizes.given)};
  operation.writes = {static_cast<std::byte*>(to), bytes(sizes.got)};
  if (!describe(operation, asked)) return ncclInvalidUsage;
  note_collective(communicator_of(handle), collective_of(operation), handle->rank,
                  operation.sequence);
  enqueue(*stream, operation);
  return ncclSuccess;
}

bool adds(ncclRedOp_t operation) {
  return operation == ncclSum || operation == ncclAvg;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    default:
      return "unknown NCCL error";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const Call call(machine().settings.call_ns);
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, kIdFormat,
                static_cast<long>(++machine().communicator_ids));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const Call call(machine().settings.collective_launch_ns);
  long number = 0;
  if (ranks > kRanks || rank < 0 || rank >= ranks ||
      std::sscanf(id.internal, kIdFormat, &number) != 1)
    return ncclInvalidArgument;
  Machine& m = machine();
  int place = 0;
  while (place < kCommunicators && m.communicators[place].id != number &&
         m.communicators[place].id != 0)
    ++place;
  if (place == kCommunicators) give_up("more than %d communicators", kCommunicators);
  Communicator& communicator = m.communicators[place];
  communicator.id = number;
  communicator.ranks = ranks;
  communicator.devices[rank] = physical_device() + 1;
  for (int other = 0; other < ranks; ++other)
    if (other != rank && communicator.devices[other] == communicator.devices[rank] &&
        !ranks_may_share_gpus()) {  // two ranks on one GPU
      for (int& error : communicator.async_error) error = ncclInvalidUsage;
      return ncclInvalidUsage;
    }
  const bool joins = !never_joins(rank);
  if (joins) ++communicator.joined;
  const bool blocking = config == nullptr || config->blocking != 0;
  *handle = new ncclComm{place, rank, blocking, false};
  if (!blocking) return all_joined(*handle) ? ncclSuccess : ncclInProgress;
  wait_for({.where = "joining a communicator",
            .watched = &communicator.joined,
            .at_least = joins ? ranks : kNever});
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(handle, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* result) {
  const InUse in_use(handle, "ncclCommGetAsyncError");
  const Call call(machine().settings.call_ns);
  const int error = communicator_of(handle).async_error[handle->rank];
  *result = error != 0           ? static_cast<ncclResult_t>(error)
            : all_joined(handle) ? ncclSuccess
                                 : ncclInProgress;
  return ncclSuccess;
}

/// Kernels that wait for a peer end. The peers' kernels continue to wait.
ncclResult_t ncclCommAbort(ncclComm_t handle) {
  const Call call(machine().settings.call_ns);
  end_collectives(handle->communicator, handle->rank);
  delete handle;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) {
  const Call call(machine().settings.call_ns);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  const Call call(machine().settings.call_ns);
  delete handle;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++groups_open;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (groups_open == 0) return ncclInvalidUsage;
  if (--groups_open > 0) return ncclSuccess;
  const auto launches = std::move(in_group);
  in_group.clear();
  for (const auto& launch : launches)
    if (const ncclResult_t result = launch(); result != ncclSuccess) return result;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  if (!adds(operation)) return ncclInvalidArgument;
  return now_or_in_group([=] {
    return collective({CollectiveKind::all_reduce, 0, type, operation == ncclAvg, 0},
                      {count, count, count}, from, to, handle, stream);
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t handle, cudaStream_t stream) {
  return now_or_in_group([=] {
    return collective({CollectiveKind::broadcast, root, type, false, 0}, {count, count, count},
                      from, to, handle, stream);
  });
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t handle, cudaStream_t stream) {
  if (!adds(operation)) return ncclInvalidArgument;
  return now_or_in_group([=] {
    const std::size_t got = handle->rank == root ? count : 0;
    return collective({CollectiveKind::reduce, root, type, operation == ncclAvg, 0},
                      {count, got, count}, from, to, handle, stream);
  });
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t handle, cudaStream_t stream) {
  return now_or_in_group([=] {
    const std::size_t all = count * static_cast<std::size_t>(communicator_of(handle).ranks);
    return collective({CollectiveKind::all_gather, 0, type, false, 0}, {count, all, all}, from, to,
                      handle, stream);
  });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  if (!adds(operation)) return ncclInvalidArgument;
  return now_or_in_group([=] {
    const std::size_t all = count * static_cast<std::size_t>(communicator_of(handle).ranks);
    return collective({CollectiveKind::reduce_scatter, 0, type, operation == ncclAvg, 0},
                      {all, count, all}, from, to, handle, stream);
  });
}

}  // extern "C"
