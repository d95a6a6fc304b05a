// Answers the points of a sweep one by one, from any thread. Work that points share is done once: workloads, clusters and options are
// read once, and points of a workload and a candidate with equal buckets share a simulated step.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sweep_study.hpp"

namespace ddpsim {

class SweepPoints {
 public:
  /// Throws InputError if the options are wrong on every point.
  SweepPoints(const SweepStudy& study, bool intervals);
  ~SweepPoints();
  SweepPoints(const SweepPoints&) = delete;
  SweepPoints& operator=(const SweepPoints&) = delete;

  /// Returns a line of ddpsim.sweep/1. A point without an answer also has one.
  std::string line(std::size_t point) const;

 private:
  class Shared;
  const SweepStudy& study_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace ddpsim
