// Values whose average over all ranks is known, to tell a reducer that adds up from one that does not.
//
// At most four ranks give a gradient anything but zero, and that is 1 to 7: sums stay below 32, so any that lacks a contribution,
// has one twice, or has one of another parameter or step is off by 1/28 or more. Rounding (of the factor 1/ranks, of each
// scaled contribution, of three additions) is off by five half units of the last place, 2 % in bfloat16: the two never meet.
// Of micro-batches at most two give a gradient anything but zero, and that is 1 to 3.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Which gradient: steps, parameters, parts of a parameter and micro-batches differ.
struct CheckedPart {
  std::size_t parameter = 0;
  int part = 0;
  int iteration = 0;
  int batch = 0;    ///< micro-batch …
  int batches = 1;  ///< … of so many
};

/// First element, last element, and those between: what is shifted by one shows.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
std::vector<ElementRange> checked_parts(std::int64_t elements);

/// What the rank's own gradient of this micro-batch holds.
double contribution(int rank, int ranks, const CheckedPart& part);
/// Over all micro-batches, and the ranks that have such a gradient.
double expected_average(
    int ranks, CheckedPart part,
    const std::function<bool(int rank)>& has_gradient = [](int) { return true; });
/// `summed` is the type that was added up in. NaN is right nowhere.
bool is_average(double got, double expected, Dtype summed);

class WrongAverage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ddpsim
