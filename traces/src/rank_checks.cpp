#include "rank_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ddpsim {
namespace {

class RankChecks {
 public:
  RankChecks(const Cursor& list, const Workload& workload)
      : list_(list), entries_(list.array()), workload_(workload), ranks_(workload.ranks) {}

  void run() const {
    for (std::size_t k = 0; k < ranks_.size(); ++k) {
      check_order(k);
      check_world(k);
      check_collectives(k);
    }
    if (!ranks_.empty()) check_representative();
  }

 private:
  [[noreturn]] void fail(std::size_t k, std::string_view field, std::string message,
                         Hint hint) const {
    const Object entry = entries_[k].free_object();
    const Cursor place = entry.has(field) ? entry.required(field) : entries_[k];
    place.fail(std::move(message), std::move(hint));
  }
  std::string place(std::size_t k) const { return fmt::format("{}/{}", list_.where(), k); }

  void check_order(std::size_t k) const {
    if (k == 0 || ranks_[k].rank > ranks_[k - 1].rank) return;
    const int before = ranks_[k - 1].rank;
    if (ranks_[k].rank == before) {
      fail(k, "rank", fmt::format("rank {} is already at {}", before, place(k - 1)),
           "Each rank is recorded once");
    }
    fail(k, "rank", fmt::format("rank {} comes after rank {}", ranks_[k].rank, before),
         "The list is in ascending order of rank");
  }

  void check_world(std::size_t k) const {
    const int world = ranks_[k].recorded_with.world_size;
    const int first = ranks_.front().recorded_with.world_size;
    if (world != first) {
      fail(k, "recorded_with",
           fmt::format("recorded with world size {}, but {} with {}", world, place(0), first),
           "All ranks must be from one job");
    }
    if (world > 0 && ranks_[k].rank >= world) {
      fail(k, "rank", fmt::format("there is no rank {} in a world of {}", ranks_[k].rank, world),
           fmt::format("Expected 0 to {}, or another recorded_with/world_size", world - 1));
    }
  }

  void check_collectives(std::size_t k) const {
    const auto& own = ranks_[k].recorded_with.collectives;
    const auto& first = ranks_.front().recorded_with.collectives;
    const bool alike =
        std::equal(own.begin(), own.end(), first.begin(), first.end(),
                   [](const RecordedCollective& one, const RecordedCollective& other) {
                     return one.bytes == other.bytes;
                   });
    if (!alike) {
      fail(k, "recorded_with",
           fmt::format("this rank has {} collectives that differ from the {} of {}", own.size(),
                       first.size(), place(0)),
           "Every rank must have the same collectives, with the same bytes in the same order");
    }
  }

  void check_representative() const {
    if (ranks_.front().offset != Duration()) {
      fail(0, "offset_us", "offsets count from the first rank listed", "Expected 0");
    }
    if (static_cast<const Recorded&>(ranks_.front()) != workload_) {
      fail(0, "", "differs from the top level of the file",
           "forward, backward, optimizer, iteration, host and recorded_with must be the same for "
           "the first rank listed and at the top level");
    }
  }

  const Cursor& list_;
  const std::vector<Cursor> entries_;
  const Workload& workload_;
  const std::vector<RankRecording>& ranks_;
};

}  // namespace

void check_ranks(const Cursor& list, const Workload& workload) {
  RankChecks(list, workload).run();
}

}  // namespace ddpsim
