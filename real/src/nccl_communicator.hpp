// NCCL on a stream of its own, like ProcessGroupNCCL. A collective waits for the work that is on
// the compute stream when it is launched. The compute stream waits for a collective when told to.
// The host waits only in synchronise, and only for a limited time.
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
  /// Rank 0 sends NCCL's id to the others through the store. Throws PeerLost.
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
  /// Waits until all streams are done. If a peer died or the network stalls, throws PeerLost within
  /// the time-out.
  void finish();
  /// Announces that the GPU will compute for this time.
  void computes(std::chrono::nanoseconds time) { watchdog_.computes(time); }
  /// Reports that the GPU made progress. Throws PeerLost.
  void require_well();

 private:
  struct Launched {
    std::size_t start = 0;
    std::size_t end = 0;
    std::size_t done = 0;  ///< after the end, if sums were cast
  };
  /// Waits for the compute stream, sums, and records events.
  Launched summed(Region region);
  void watch(const std::function<cudaError_t()>& query);

  CudaDevice& device_;
  int rank_;
  int ranks_;
  NcclWatchdog watchdog_;
  cudaStream_t stream_ = nullptr;
  /// Stream for the casts that a hook runs after a collective.
  cudaStream_t casts_ = nullptr;
  EventPool events_;
  std::vector<Launched> launched_;
};

}  // namespace ddpsim
