// Distance of a job shape, or a size, from what a log measured, in the correction's own lengths.
#pragma once

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {

// Chosen by leaving out shapes, all families together (tests/unit/calibrate/families_test.cpp). For
// kSizes the evidence is equally good from 5 to 8.
inline constexpr double kSizes = 6.0;  // powers of two
inline constexpr double kNodes = 4.0;  // powers of two
inline constexpr double kGpus = 5.0;   // powers of two
// Additional distance between one node and several, in powers of two of nodes.
inline constexpr double kOneNode = 2.0;

inline double log2_of(double value) {
  return elementary::log2(std::max(value, 1.0));
}

inline bool several_nodes(int nodes) {
  return nodes > 1;
}

/// Distance in units of the shape's correlation length.
inline double shape_distance(int nodes_a, int gpus_a, int nodes_b, int gpus_b) {
  const double nodes = std::abs(log2_of(nodes_a) - log2_of(nodes_b)) +
                       (several_nodes(nodes_a) != several_nodes(nodes_b) ? kOneNode : 0);
  return nodes / kNodes + std::abs(log2_of(gpus_a) - log2_of(gpus_b)) / kGpus;
}

inline double octave(Bytes size) {
  return log2_of(static_cast<double>(size.count()));
}

/// Powers of two between the sizes of a log and this one; 0 if it is within them.
inline double octaves_outside(const CalibratedShape& log, Bytes size) {
  return std::max({0.0, octave(log.smallest) - octave(size), octave(size) - octave(log.largest)});
}

}  // namespace ddpsim
