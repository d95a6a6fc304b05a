// NCCL on a stream of its own, as ProcessGroupNCCL: a collective waits for what the compute stream
// holds when it is launched, and the compute stream waits for it when told to. The host never waits
// but in synchronise, and there not for ever.
#pragma once

#include <chrono>
#include <functional>

#include "communicator.hpp"
#include "cuda_device.hpp"
#include "nccl_watchdog.hpp"
#include "store.hpp"

namespace ddpsim {

class NcclCommunicator : public Communicator {
 public:
  /// Rank 0 hands NCCL's id to the others through the store. Throws PeerLost.
  NcclCommunicator(StoreClient& store, CudaDevice& device, int rank, int ranks,
                   std::chrono::milliseconds timeout);
  ~NcclCommunicator() override;
  std::vector<std::pair<std::string, std::string>> description() const override;
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  WorkId all_reduce(Region region) override;
  WorkId all_reduce_and_decompress(Region region, Region wide) override;
  WorkId broadcast(Region region) override;
  void wait(WorkId work) override;
  CollectiveTimes times_of(WorkId work) override;
  void forget_works() override;
  void abandon() noexcept override { watchdog_.abandon(); }
  /// Waits until all streams are done; a peer that died or a network that stalls is a PeerLost
  /// within the time-out.
  void finish();
  /// The GPU is to compute for so long.
  void computes(std::chrono::nanoseconds time) { watchdog_.computes(time); }
  /// The GPU has come on. Throws PeerLost.
  void require_well();

 private:
  struct Launched {
    std::size_t start = 0;
    std::size_t end = 0;
    std::size_t done = 0;  ///< after the end, where sums were cast
  };
  /// Waits for the compute stream, sums, records.
  Launched summed(Region region);
  void watch(const std::function<cudaError_t()>& query);

  CudaDevice& device_;
  int rank_;
  int ranks_;
  NcclWatchdog watchdog_;
  cudaStream_t stream_ = nullptr;
  cudaStream_t casts_ = nullptr;  ///< what hooks chain to a collective runs on a stream of its own
  EventPool events_;
  std::vector<Launched> launched_;
};

}  // namespace ddpsim
