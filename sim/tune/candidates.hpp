// Every bucketing of a search with the step it takes: simulated, or, where they are more than can be, estimated.
//
// Then some are simulated at even distances, which tells what the estimates miss and keeps every part of the curve in view;
// and as many as those of what is then estimated fastest. An answer is never an estimate: who speaks of a bucketing asks for
// its simulated point.
#pragma once

#include <cstddef>
#include <vector>

#include "bucketing_search.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "gain.hpp"

namespace ddpsim {

/// Simulates this bucketing of the job by each of its readings (at most two).
void time_bucketing(const Gains& gains, const Change& change, CurvePoint& point);

class Candidates {
 public:
  /// `gains` must outlive it.
  Candidates(const Gains& gains, std::vector<Bucketing> found, const TuneOptions& tuning);

  std::size_t size() const { return found_.size(); }
  const std::vector<Bucketing>& all() const { return found_; }
  const Bucketing& operator[](std::size_t i) const { return found_[i]; }
  /// Positions of those simulated so far, ascending.
  std::vector<std::size_t> simulated() const;
  bool is_simulated(std::size_t i) const { return simulated_[i]; }
  void simulate(std::size_t i);
  std::vector<Bucket> buckets_of(std::size_t i) const;
  /// A job under it.
  Change change_to(std::size_t i) const;

 private:
  void simulate(const std::vector<std::size_t>& chosen, const TuneOptions& tuning);
  std::vector<std::size_t> fastest(std::size_t wanted) const;
  std::vector<Duration> estimate(int threads);
  void correct(const std::vector<Duration>& estimates);

  const Gains& gains_;
  std::vector<Bucketing> found_;
  std::vector<char> simulated_;  ///< threads write beside each other
};

}  // namespace ddpsim
