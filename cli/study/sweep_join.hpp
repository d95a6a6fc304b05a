// Parts of a sweep put together: what one run would have written.
#pragma once

#include <string>
#include <vector>

namespace ddpsim {

struct JoinedSweep {
  std::string lines;  ///< ddpsim.sweep/1
  std::string table;  ///< its rows
  std::string figure;
};

struct SweepPart {
  std::string file;  ///< its name
  std::string text;
};

/// Throws InputError where parts are of different sweeps, hold a point twice, or miss one.
JoinedSweep join_sweeps(const std::vector<SweepPart>& parts);

}  // namespace ddpsim
