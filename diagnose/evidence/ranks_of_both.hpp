// Ranks whose channels the logs of both sides tell: what of theirs may be compared.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

/// A log may be one rank's, and the other all ranks', and any may be cut off at either end. Ranks that both have to their
/// end are compared as they are; where a side has fewer channels, by those of both, since the others took their NICs
/// along. Of a rank that is cut off on one side nothing is known but where both hold the same channels of it.
class RanksOfBoth {
 public:
  /// Both sides are referred to.
  RanksOfBoth(const NcclFacts& before, const NcclFacts& after);

  bool any() const { return !whole_.empty() || !partly_.empty(); }

  struct Nics {
    std::set<std::pair<std::string, int>> before, after;
  };
  Nics nics() const;

  /// Of counts before and now, together: the share of the first in both; absent where a side has none.
  struct Shares {
    double before = 0, after = 0;
  };
  std::optional<Shares> gpudirect() const;
  std::optional<Shares> shared_memory() const;

 private:
  struct EndCounts {
    int before = 0, after = 0, both = 0;
  };
  std::map<int, EndCounts> count_ends() const;
  template <typename Take>
  void for_common_ends(const Take& take) const;

  const NcclFacts& before_;
  const NcclFacts& after_;
  std::vector<std::pair<const NcclRankLines*, const NcclRankLines*>> whole_;
  std::set<int> fewer_channels_;  ///< ranks of whole_, where a side has other channels
  std::set<int> partly_;          ///< cut off on a side
  std::set<int> same_ends_;       ///< ranks of partly_ of which both sides hold the same channels
  /// Ranks of partly_ that use GPUDirect RDMA everywhere, or nowhere, on either side.
  std::set<int> alike_ends_;
};

}  // namespace ddpsim
