// Joins the parts of a sweep into what one run would have written.
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

/// Throws InputError if parts belong to different sweeps, contain a point twice, or lack one.
JoinedSweep join_sweeps(const std::vector<SweepPart>& parts);

}  // namespace ddpsim
