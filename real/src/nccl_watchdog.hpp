// An NCCL communicator and a thread that watches it. The host may be blocked in a launch into a
// full queue, in a wait for the GPU, or by a silent rank. So the thread checks a deadline, NCCL's
// errors, and the store's state of the job. If one of them fails, it aborts the communicator. This
// ends everything that waits on the GPU, and then everything that waits for the GPU.
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
  /// Joins the communicator within `timeout`. Throws PeerLost, as do all functions below that are
  /// not noexcept.
  NcclWatchdog(StoreClient& store, const ncclUniqueId& id, int rank, int ranks,
               std::chrono::milliseconds timeout);
  ~NcclWatchdog();
  NcclWatchdog(const NcclWatchdog&) = delete;
  NcclWatchdog& operator=(const NcclWatchdog&) = delete;

  /// Calls an NCCL function with the communicator. From now on the GPU must make progress.
  void call(const std::function<ncclResult_t(ncclComm_t)>& call, const char* what);
  /// Reports that the GPU made progress. The time-out starts again.
  void came_on();
  /// Announces compute of this duration, which does not count towards the time-out.
  void computes(std::chrono::nanoseconds time);
  /// Reports that the GPU has nothing left to do.
  void all_done();
  void require_well();
  /// This rank fails. Collectives of its peers are not waited for.
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
  std::atomic<std::int64_t> deadline_ns_ = kNoDeadline;  ///< on the steady clock
  std::atomic<std::int64_t> computing_ns_ = 0;           ///< launched since the GPU's last progress
  std::atomic<bool> joined_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex calls_;                   ///< held by every user of the communicator
  ncclComm_t communicator_ = nullptr;  ///< made once; aborted when `ended_` is set
  std::string cause_;
  std::mutex waking_;  ///< for the thread's own waits
  std::condition_variable woken_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ddpsim
