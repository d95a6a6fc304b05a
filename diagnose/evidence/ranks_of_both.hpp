// The ranks whose channels both logs show, and what can be compared between them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

/// One log may cover a single rank and the other all ranks, and either may be cut off at both ends.
/// Ranks with complete channels on both sides are compared directly. If a side has fewer channels,
/// only channels of both sides are compared, because the missing ones took their NICs along. A rank
/// that is cut off on one side is compared only by the channels that both sides hold.
class RanksOfBoth {
 public:
  /// Keeps references to both sides.
  RanksOfBoth(const NcclFacts& before, const NcclFacts& after);

  bool any() const { return !whole_.empty() || !partly_.empty(); }

  struct Nics {
    std::set<std::pair<std::string, int>> before, after;
  };
  Nics nics() const;

  /// The share of the first count in the sum of two counts, for both sides. Absent if a side has
  /// none.
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
  /// Ranks of whole_ whose number of channels differs between the sides.
  std::set<int> fewer_channels_;
  std::set<int> partly_;  ///< cut off on one side
  /// Ranks of partly_ for which both sides hold the same channels.
  std::set<int> same_ends_;
  /// Ranks of partly_ that use GPUDirect RDMA everywhere or nowhere, on each side.
  std::set<int> alike_ends_;
};

}  // namespace ddpsim
