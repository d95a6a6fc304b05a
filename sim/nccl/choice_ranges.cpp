#include "ddpsim/sim/nccl/choice_ranges.hpp"

#include <algorithm>
#include <cstdint>

namespace ddpsim {
namespace {

bool alike(const CollectiveChoice& a, const CollectiveChoice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

class Ranges {
 public:
  Ranges(CollectiveKind kind, const Cluster& cluster, const CollectiveTuning& tuning)
      : kind_(kind), cluster_(cluster), tuning_(tuning) {}

  std::vector<ChoiceRange> up_to(std::int64_t largest) && {
    add(0, choice(0));
    std::int64_t size = 0;
    while (size < largest) {
      const std::int64_t next = std::min(largest, size + std::max<std::int64_t>(1, size / 4));
      borders_between(size, ranges_.back().choice, next, choice(next));
      size = next;
    }
    ranges_.back().to = Bytes(largest);
    return std::move(ranges_);
  }

 private:
  CollectiveChoice choice(std::int64_t size) const {
    return select_algorithm(kind_, Bytes(size), cluster_, tuning_);
  }

  void add(std::int64_t from, const CollectiveChoice& choice) {
    if (!ranges_.empty()) ranges_.back().to = Bytes(from - 1);
    ranges_.push_back({.from = Bytes(from), .to = Bytes(from), .choice = choice});
  }

  void borders_between(std::int64_t low, const CollectiveChoice& at_low, std::int64_t high,
                       const CollectiveChoice& at_high) {
    if (alike(at_low, at_high)) return;
    if (high - low == 1) {
      add(high, at_high);
      return;
    }
    const std::int64_t middle = low + (high - low) / 2;
    const CollectiveChoice at_middle = choice(middle);
    borders_between(low, at_low, middle, at_middle);
    borders_between(middle, at_middle, high, at_high);
  }

  CollectiveKind kind_;
  const Cluster& cluster_;
  const CollectiveTuning& tuning_;
  std::vector<ChoiceRange> ranges_;
};

}  // namespace

std::vector<ChoiceRange> choice_ranges(CollectiveKind kind, const Cluster& cluster,
                                       const CollectiveTuning& tuning, Bytes largest) {
  return Ranges(kind, cluster, tuning).up_to(largest.count());
}

}  // namespace ddpsim
