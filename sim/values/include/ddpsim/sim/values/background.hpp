// Traffic of others on the links of a fabric: what the flow network simulates beside the job.
// Everything is a function of time, so that the same question has the same answer.
#pragma once

#include <vector>

#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// When other traffic begins, by the clock of the step (zero: the start of rank 0's forward).
struct Repetition {
  TimePoint first;
  /// Again so long after each start, or when the last has ended, whichever is later; zero: once.
  Duration period;
};

/// Bytes that cross some links.
struct BackgroundTransfer {
  std::vector<LinkId> links;
  Bytes size;
  Bandwidth rate = Bandwidth::bytes_per_second(1e18);  ///< at most; its links bound it anyway
  Repetition when;
};

/// Another data-parallel job on the fabric: all-reduces of one size around rings of its own.
struct BackgroundJob {
  std::vector<RingChannel> rings;  ///< routes of the same fabric
  Bytes size;
  Repetition when;
};

struct Background {
  std::vector<BackgroundTransfer> transfers;
  std::vector<BackgroundJob> jobs;
  bool empty() const { return transfers.empty() && jobs.empty(); }
};

}  // namespace ddpsim
