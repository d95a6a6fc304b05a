// The clock that ranks agree on, kept over a sweep: rank 0's, compared before the first configuration and after each. Times are
// taken with the first comparison and corrected with what the next ones say.
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
  /// Tells the others on which host this rank is. Tests make up hosts and clocks.
  RankClock(StoreClient& store, int rank, const std::string& boot, Clock own_ns = monotonic_ns);
  /// Rank 0's monotonic clock, counted from where rank 0 says.
  HostClock start();
  /// Compares again, and moves what was recorded since the last time.
  void correct(std::vector<StepRecord>& records);
  /// Rank 0 hears how well this rank knows its clock after `configuration`.
  void tell(const std::string& configuration);
  /// On rank 0: how far the ranks' times may be apart.
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
