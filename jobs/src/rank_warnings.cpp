#include "rank_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddpsim {

std::vector<std::string> rank_warnings(const Workload& workload, const Cluster& cluster) {
  const std::vector<RankRecording>& ranks = workload.ranks;
  if (ranks.empty()) return {};
  const auto own = std::count_if(ranks.begin(), ranks.end(), [&](const RankRecording& one) {
    return one.rank < cluster.ranks();
  });
  std::vector<std::string> warnings;
  if (static_cast<int>(own) < cluster.ranks())
    warnings.push_back(
        fmt::format("{} of the cluster's {} ranks replay their own recording, the others repeat "
                    "the {} recorded, in order. Stragglers rarer than 1 in {} are missing, and "
                    "shared data loading or storage may delay more ranks",
                    own, cluster.ranks(), ranks.size(), ranks.size()));
  if (static_cast<std::size_t>(own) < ranks.size())
    warnings.push_back(
        fmt::format("{} of the {} recorded ranks exceed the cluster's {} and are left out, however "
                    "late they were",
                    ranks.size() - static_cast<std::size_t>(own), ranks.size(), cluster.ranks()));
  return warnings;
}

}  // namespace ddpsim
