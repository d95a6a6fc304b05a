// An NCCL communicator and the thread that watches over it. The host may sit in a launch into a full queue, in a wait for the
// GPU, or in another rank's silence: the thread looks at a deadline, at NCCL's errors and at what the store says of the job,
// and aborts the communicator, which ends all that waits on the GPU and so all that waits for the GPU.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "store.hpp"

namespace ddpsim {

class NcclWatchdog {
 public:
  /// Joins, which may take `timeout` at most. Throws PeerLost, as all below but the noexcept ones.
  NcclWatchdog(StoreClient& store, const ncclUniqueId& id, int rank, int ranks,
               std::chrono::milliseconds timeout);
  ~NcclWatchdog();
  NcclWatchdog(const NcclWatchdog&) = delete;
  NcclWatchdog& operator=(const NcclWatchdog&) = delete;

  /// Makes a call of NCCL's with the communicator; from now on the GPU is to come on.
  void call(const std::function<ncclResult_t(ncclComm_t)>& call, const char* what);
  /// The GPU came on: it has the whole time-out for what it does next.
  void came_on();
  /// So long it is to compute beside, which no time-out is of.
  void computes(std::chrono::nanoseconds time);
  /// Nothing is left for the GPU to do.
  void all_done();
  void require_well();
  /// This rank fails: its peers' collectives are not waited for.
  void abandon() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kNoDeadline = INT64_MAX;

  void join(const ncclUniqueId& id, int rank, int ranks);
  void expect();
  void settle(ncclResult_t status, const char* what);
  void require_well_locked();
  void watch();
  std::string problem(bool ask_store);
  void end(const std::string& cause) noexcept;
  void take_down() noexcept;

  StoreClient& store_;
  std::chrono::milliseconds timeout_;
  std::atomic<std::int64_t> deadline_ns_ = kNoDeadline;  ///< of the steady clock
  std::atomic<std::int64_t> computing_ns_ = 0;           ///< launched since the GPU last came on
  std::atomic<bool> joined_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex calls_;                   ///< held by whoever uses the communicator …
  ncclComm_t communicator_ = nullptr;  ///< made once; aborted where ended_
  std::string cause_;
  std::mutex waking_;  ///< … and for the thread's own naps
  std::condition_variable woken_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ddpsim
