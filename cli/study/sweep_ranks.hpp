// A sweep over several ranks. Rank 0 hands out points and writes the lines that come back; the other ranks answer points.
//
// Rank 0 sends:
//   "points FIRST COUNT" or "end".
// Each other rank sends:
//   "ready HOST HEADER" or "problem HOST TEXT", once.
//   "lines WANTED", followed by lines, each with the number of its point.
//   "failed TEXT" if a line cannot be made. Its last message is "bye".
//
// A rank asks for points ahead of time, for about kAhead of work, so that it never waits for a message. Each rank sends a message every
// few seconds ("lines 0"). A rank that is silent for a minute has died without its launcher noticing.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "sweep_dispatch.hpp"

namespace ddpsim {

/// The other ranks, as rank 0 sees them.
class SweepRanks {
 public:
  /// `ranks` is null if there are no other ranks.
  explicit SweepRanks(Ranks* ranks);
  /// Ends all other ranks.
  ~SweepRanks();
  SweepRanks(const SweepRanks&) = delete;
  SweepRanks& operator=(const SweepRanks&) = delete;

  bool any() const { return ranks_ != nullptr; }
  /// Waits until every rank has read the same sweep. Throws InputError if one has not.
  void require_same(const std::string& header);
  /// Hands out points and collects lines until the sweep is over.
  void serve(SweepDispatch& dispatch);

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    bool gone = false;
    Clock::time_point heard = Clock::now();
  };
  /// Returns the next message of a rank that has not left, or nothing after a short wait.
  std::optional<RankMessage> receive();
  std::string name(int rank) const;

  Ranks* const ranks_;
  std::vector<Rank> others_;  ///< by rank; [0] is this one
  bool released_ = false;
};

/// The answers of a rank.
struct SweepAnswers {
  std::string header;  ///< of the sweep
  std::function<std::string(std::size_t k)> line;
};

/// Answers points on any rank except rank 0, until rank 0 ends it.
void answer_for_rank_0(Ranks& ranks, int threads, const std::function<SweepAnswers()>& prepare);

}  // namespace ddpsim
