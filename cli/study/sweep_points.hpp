// The points of a sweep, answered one by one and from any thread. What points share is done once: workloads, clusters and
// the options of each combination are read, and of a workload on a candidate a step of the same buckets is simulated.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sweep_study.hpp"

namespace ddpsim {

class SweepPoints {
 public:
  /// Throws InputError where options make no sense on any point.
  SweepPoints(const SweepStudy& study, bool intervals);
  ~SweepPoints();
  SweepPoints(const SweepPoints&) = delete;
  SweepPoints& operator=(const SweepPoints&) = delete;

  /// A line of ddpsim.sweep/1. A point that cannot be answered is one, too.
  std::string line(std::size_t point) const;

 private:
  class Shared;
  const SweepStudy& study_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace ddpsim
