// Every bucketing of a search with its step time: simulated or, if there are too many, estimated.
//
// Some bucketings are then simulated at even distances. This shows the error of the estimates and
// keeps every part of the curve in view. The same number is simulated of those that the corrected
// estimates rank fastest. An answer is never an estimate: whoever reports a bucketing asks for its
// simulated point.
#pragma once

#include <cstddef>
#include <vector>

#include "bucketing_search.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "gain.hpp"

namespace ddpsim {

/// Simulates this bucketing of the job under each of its readings (at most two).
void time_bucketing(const Gains& gains, const Change& change, CurvePoint& point);

class Candidates {
 public:
  /// `gains` must outlive it.
  Candidates(const Gains& gains, std::vector<Bucketing> found, const TuneOptions& tuning);

  std::size_t size() const { return found_.size(); }
  const std::vector<Bucketing>& all() const { return found_; }
  const Bucketing& operator[](std::size_t i) const { return found_[i]; }
  /// Indices of the bucketings simulated so far, ascending.
  std::vector<std::size_t> simulated() const;
  bool is_simulated(std::size_t i) const { return simulated_[i]; }
  void simulate(std::size_t i);
  std::vector<Bucket> buckets_of(std::size_t i) const;
  /// The change that gives a job this bucketing.
  Change change_to(std::size_t i) const;

 private:
  void simulate(const std::vector<std::size_t>& chosen, const TuneOptions& tuning);
  std::vector<std::size_t> fastest(std::size_t wanted) const;
  std::vector<Duration> estimate(int threads);
  void correct(const std::vector<Duration>& estimates);

  const Gains& gains_;
  std::vector<Bucketing> found_;
  std::vector<char> simulated_;  ///< not vector<bool>: threads write neighbouring elements
};

}  // namespace ddpsim
