// Several ranks in one process, with a thread for each: one process for all GPUs of a node. Each
// rank has its own device, communicator and connection to the store, as if it were a process.
#pragma once

#include <chrono>
#include <stdexcept>
#include <vector>

#include "job_message.hpp"
#include "sweep.hpp"

namespace ddpsim {

/// Error of the first rank of a process that failed by itself. The other ranks failed because of
/// it.
class RankFailed : public std::runtime_error {
 public:
  RankFailed(int rank, const std::string& reason, JobMessage::Cause cause, bool all_ended)
      : std::runtime_error(reason), rank_(rank), cause_(cause), all_ended_(all_ended) {}
  int rank() const { return rank_; }
  JobMessage::Cause cause() const { return cause_; }
  /// False: other threads are still waiting, so a clean shutdown is impossible.
  bool all_ended() const { return all_ended_; }

 private:
  int rank_;
  JobMessage::Cause cause_;
  bool all_ended_;
};

/// Runs the ranks until all have ended, and returns the measurement of the first. If one fails, the
/// others have `grace` to end. Throws RankFailed.
Measurement run_threads(const Sweep& sweep, const std::vector<World>& ranks,
                        std::chrono::milliseconds grace = std::chrono::seconds(5));

}  // namespace ddpsim
