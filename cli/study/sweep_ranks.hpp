// A sweep over several ranks. Rank 0 hands points out and writes what comes back; the others answer them.
//
//   rank 0 → k:  "points FIRST COUNT" | "end"
//   k → rank 0:  "ready HOST HEADER" | "problem HOST TEXT", once; "lines WANTED", behind it lines, each with the number
//                of its point; "failed TEXT" where one cannot be made; "bye", the last
//
// A rank asks for more before it has answered what it has, for about kAhead of work, so that nobody waits for a message.
// Each says something every few seconds ("lines 0"): one that is silent for a minute has died, where the launcher did not see it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "sweep_dispatch.hpp"

namespace ddpsim {

/// The others, for rank 0; null: there are none.
class SweepRanks {
 public:
  explicit SweepRanks(Ranks* ranks);
  /// Lets all go home.
  ~SweepRanks();
  SweepRanks(const SweepRanks&) = delete;
  SweepRanks& operator=(const SweepRanks&) = delete;

  bool any() const { return ranks_ != nullptr; }
  /// Waits until each has understood the same sweep. Throws InputError where one has not.
  void require_same(const std::string& header);
  /// Until it is over.
  void serve(SweepDispatch& dispatch);

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    bool gone = false;
    Clock::time_point heard = Clock::now();
  };
  /// The next message of a rank that is not gone; absent after a moment without.
  std::optional<RankMessage> receive();
  std::string name(int rank) const;

  Ranks* const ranks_;
  std::vector<Rank> others_;  ///< by rank; [0]: this one
  bool released_ = false;
};

/// What a rank answers with.
struct SweepAnswers {
  std::string header;  ///< of all that is swept
  std::function<std::string(std::size_t k)> line;
};

/// Of any rank but 0: answers what it is given, until rank 0 lets it go.
void answer_for_rank_0(Ranks& ranks, int threads, const std::function<SweepAnswers()>& prepare);

}  // namespace ddpsim
