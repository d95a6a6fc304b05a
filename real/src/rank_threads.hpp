// Several ranks in one process, a thread each: one process for all GPUs of a node. Each has a
// device, a communicator and a connection to the store of its own, as if it were a process.
#pragma once

#include <chrono>
#include <stdexcept>
#include <vector>

#include "job_message.hpp"
#include "sweep.hpp"

namespace ddpsim {

/// The first of a process's ranks to fail by itself; the others failed with it.
class RankFailed : public std::runtime_error {
 public:
  RankFailed(int rank, const std::string& reason, JobMessage::Cause cause, bool all_ended)
      : std::runtime_error(reason), rank_(rank), cause_(cause), all_ended_(all_ended) {}
  int rank() const { return rank_; }
  JobMessage::Cause cause() const { return cause_; }
  /// False: threads of the others still wait for something. Nothing can be taken down in order any more.
  bool all_ended() const { return all_ended_; }

 private:
  int rank_;
  JobMessage::Cause cause_;
  bool all_ended_;
};

/// Runs the ranks until all have ended; what the first of them measured. Where one fails the others
/// have `grace` to end.
/// Throws RankFailed.
Measurement run_threads(const Sweep& sweep, const std::vector<World>& ranks,
                        std::chrono::milliseconds grace = std::chrono::seconds(5));

}  // namespace ddpsim
