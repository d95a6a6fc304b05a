// Traffic of other jobs on the links of a fabric, which the flow network simulates together with
// the job. It is a pure function of time, so the same question always has the same answer.
#pragma once

#include <vector>

#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// When other traffic begins, on the clock of the step (zero: the start of rank 0's forward).
struct Repetition {
  TimePoint first;
  /// Time from one start to the next. If the transfer takes longer, the next one starts when it
  /// ends. Zero: it happens once.
  Duration period;
};

/// A number of bytes sent over some links.
struct BackgroundTransfer {
  std::vector<LinkId> links;
  Bytes size;
  /// An upper limit; the links limit the rate in any case.
  Bandwidth rate = Bandwidth::bytes_per_second(1e18);
  Repetition when;
};

/// Another data-parallel job on the fabric: all-reduces of one size on its own rings.
struct BackgroundJob {
  std::vector<RingChannel> rings;  ///< with routes of the same fabric
  Bytes size;
  Repetition when;
};

struct Background {
  std::vector<BackgroundTransfer> transfers;
  std::vector<BackgroundJob> jobs;
  bool empty() const { return transfers.empty() && jobs.empty(); }
};

}  // namespace ddpsim
