// The clock that ranks share during a sweep: rank 0's. Clocks are compared before the first
// configuration and after each one. Times are recorded with the first comparison, and corrected
// with the later ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clock_fit.hpp"
#include "host_clock.hpp"
#include "step_record.hpp"
#include "store.hpp"

namespace ddpsim {

class RankClock {
 public:
  using Clock = std::int64_t (*)();
  /// Publishes which host this rank is on. Tests pass other hosts and clocks.
  RankClock(StoreClient& store, int rank, const std::string& boot, Clock own_ns = monotonic_ns);
  /// Rank 0's monotonic clock, counted from an origin that rank 0 chooses.
  HostClock start();
  /// Compares the clocks again, and corrects the records since the last comparison.
  void correct(std::vector<StepRecord>& records);
  /// Tells rank 0 how accurately this rank knows its clock after `configuration`.
  void tell(const std::string& configuration);
  /// On rank 0: the largest error between the ranks' times.
  std::string agreement(const std::string& configuration, int ranks);

 private:
  ClockSample compare();

  StoreClient& store_;
  int rank_;
  Clock own_ns_;
  bool same_clock_ = false;
  HostClock clock_;
  ClockSample first_;
  ClockSample last_;
  std::int64_t worst_error_ns_ = 0;
};

}  // namespace ddpsim
