#include "rank_waits.hpp"

#include <algorithm>

namespace ddpsim {

void RankWaits::add(const PlannedStep& planned, const Execution& execution) {
  const std::vector<std::size_t>& program_of_rank = planned.program_of_rank;
  if (planned.schedule.ranks.size() <= 1) return;
  while (waits_.size() < program_of_rank.size())
    waits_.push_back({.rank = static_cast<int>(waits_.size())});
  for (const CollectiveTime& collective : execution.collectives) {
    Duration total;
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      const Duration wait = collective.last_arrival - collective.starts[program_of_rank[r]];
      waits_[r].wait += wait;
      total += wait;
    }
    if (total == Duration()) continue;
    const std::int64_t alike =
        std::count(program_of_rank.begin(), program_of_rank.end(), collective.last);
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      if (program_of_rank[r] != collective.last) continue;
      ++waits_[r].times_last;
      waits_[r].caused += Duration::picoseconds(total.picoseconds() / alike);
    }
  }
}

}  // namespace ddpsim
