// Gradient values with a known average over all ranks, which show whether a reducer adds up
// correctly.
//
// At most four ranks give a gradient a value other than zero, and that value is 1 to 7. So sums
// stay below 32. A sum is off by 1/28 or more if a contribution is missing, counted twice, or from
// another parameter or step. Rounding (of the factor 1/ranks, of each scaled contribution, of three
// additions) changes a sum by at most five half units of the last place, 2 % in bfloat16. So a
// wrong sum cannot be mistaken for rounding. At most two micro-batches give a gradient a value
// other than zero, and that value is 1 to 3.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Identifies a gradient. Steps, parameters, parts of a parameter and micro-batches have different
/// values.
struct CheckedPart {
  std::size_t parameter = 0;
  int part = 0;
  int iteration = 0;
  int batch = 0;    ///< number of the micro-batch
  int batches = 1;  ///< micro-batches per step
};

/// First element, last element, and all between. Different values reveal a shift by one element.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
std::vector<ElementRange> checked_parts(std::int64_t elements);

/// Value of the rank's own gradient in this micro-batch.
double contribution(int rank, int ranks, const CheckedPart& part);
/// Average of the gradient over the ranks that have this gradient, summed over all micro-batches.
double expected_average(
    int ranks, CheckedPart part,
    const std::function<bool(int rank)>& has_gradient = [](int) { return true; });
/// `summed` is the type in which values were added up. NaN is always wrong.
bool is_average(double got, double expected, Dtype summed);

class WrongAverage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
