#include "nccl_communicator.hpp"

#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

ncclDataType_t nccl_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return ncclFloat64;
    case Dtype::float16:
      return ncclFloat16;
    case Dtype::bfloat16:
      return ncclBfloat16;
    case Dtype::int32:
      return ncclInt32;
    default:
      return ncclFloat32;
  }
}

ncclUniqueId id_of_job(StoreClient& store, int rank) {
  ncclUniqueId id{};
  if (rank == 0) {
    const ncclResult_t status = ncclGetUniqueId(&id);
    if (status != ncclSuccess)
      throw PeerLost(std::string("making NCCL's id: ") + ncclGetErrorString(status));
    store.set("nccl", std::string(id.internal, sizeof id.internal));
  }
  const std::string text = store.get("nccl");
  DDPSIM_ASSERT(text.size() == sizeof id.internal, "NCCL's id has its size", text.size());
  std::memcpy(id.internal, text.data(), text.size());
  return id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(StoreClient& store, CudaDevice& device, int rank, int ranks,
                                   std::chrono::milliseconds timeout)
    : device_(device),
      rank_(rank),
      ranks_(ranks),
      watchdog_(store, id_of_job(store, rank), rank, ranks, timeout) {
  for (cudaStream_t* stream : {&stream_, &casts_})
    require_success(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "creating a stream");
}

/// At this point the streams have finished their work, or the communicator is aborted.
NcclCommunicator::~NcclCommunicator() {
  cudaStreamDestroy(casts_);
  cudaStreamDestroy(stream_);
}

std::vector<std::pair<std::string, std::string>> NcclCommunicator::description() const {
  int version = 0;
  ncclGetVersion(&version);
  constexpr int kMajor = 10000;  // since 2.9
  constexpr int kMinor = 100;
  return {{"communication", fmt::format("NCCL {}.{}.{}", version / kMajor,
                                        version % kMajor / kMinor, version % kMinor)}};
}

NcclCommunicator::Launched NcclCommunicator::summed(Region region) {
  const std::size_t reached = events_.record(device_.stream());
  require_success(cudaStreamWaitEvent(stream_, events_.at(reached), 0), "waiting for an event");
  const std::size_t start = events_.record(stream_);
  watchdog_.call(
      [&](ncclComm_t communicator) {
        return ncclAllReduce(region.data, region.data, static_cast<std::size_t>(region.elements),
                             nccl_type_of(region.dtype), ncclSum, communicator, stream_);
      },
      "launching an all-reduce");
  const std::size_t end = events_.record(stream_);
  return {start, end, end};
}

WorkId NcclCommunicator::all_reduce(Region region) {
  launched_.push_back(summed(region));
  return launched_.size() - 1;
}

WorkId NcclCommunicator::all_reduce_and_decompress(Region region, Region wide) {
  Launched launched = summed(region);
  require_success(cudaStreamWaitEvent(casts_, events_.at(launched.end), 0), "waiting for an event");
  cast_on(casts_, region, wide);
  launched.done = events_.record(casts_);
  launched_.push_back(launched);
  return launched_.size() - 1;
}

WorkId NcclCommunicator::broadcast(Region region) {
  const std::size_t reached = events_.record(device_.stream());
  require_success(cudaStreamWaitEvent(stream_, events_.at(reached), 0), "waiting for an event");
  watchdog_.call(
      [&](ncclComm_t communicator) {
        return ncclBroadcast(region.data, region.data,
                             static_cast<std::size_t>(region.bytes().count()), ncclInt8, 0,
                             communicator, stream_);
      },
      "launching a broadcast");
  const std::size_t end = events_.record(stream_);
  launched_.push_back({reached, end, end});  // its duration is not needed
  return launched_.size() - 1;
}

void NcclCommunicator::wait(WorkId work) {
  require_success(cudaStreamWaitEvent(device_.stream(), events_.at(launched_[work].done), 0),
                  "waiting for an event");
}

CollectiveTimes NcclCommunicator::times_of(WorkId work) {
  return {device_.time_of(events_.at(launched_[work].start)),
          device_.time_of(events_.at(launched_[work].end)),
          device_.time_of(events_.at(launched_[work].done))};
}

void NcclCommunicator::forget_works() {
  launched_.clear();
  events_.reuse();
}

void NcclCommunicator::finish() {
  for (const cudaStream_t stream : {stream_, casts_, device_.stream()})
    watch([stream] { return cudaStreamQuery(stream); });
  watchdog_.all_done();
}

void NcclCommunicator::require_well() {
  watchdog_.require_well();
  watchdog_.came_on();
}

/// Waits until the query succeeds. In case of trouble, the watchdog's abort lets the streams
/// finish.
void NcclCommunicator::watch(const std::function<cudaError_t()>& query) {
  constexpr auto kLook = std::chrono::microseconds(200);
  cudaError_t status = cudaErrorNotReady;
  for (;;) {
    watchdog_.require_well();
    if ((status = query()) != cudaErrorNotReady) break;
    std::this_thread::sleep_for(kLook);
  }
  watchdog_.require_well();
  require_success(status, "waiting for the GPU");
}

}  // namespace ddpsim
