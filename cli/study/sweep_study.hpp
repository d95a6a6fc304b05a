// A ddpsim.study/1 file as a grid: every workload on every candidate with every combination of the options that vary.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates.hpp"
#include "study.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

/// An option that varies: each point has one of its values.
struct SweepAxis {
  struct Value {
    /// JSON token: "25", "\"fp16\"", or "null" if not given.
    std::string json;
    /// As in StudyOption; empty if not given.
    std::vector<std::string> values;
  };
  std::string option;  ///< "bucket-cap-mb"
  StudyOption given(const std::vector<std::string>& one) const { return {"--" + option, one}; }
  std::vector<Value> values;
};

struct SweepPoint {
  std::size_t workload = 0;
  std::size_t candidate = 0;
  /// Combination of values of the axes. The last axis varies fastest.
  std::size_t combination = 0;
};

struct SweepStudy {
  std::string file;
  std::vector<std::string> workloads;
  std::vector<Candidate> candidates;
  std::vector<StudyOption> options;  ///< of all points
  std::vector<SweepAxis> axes;
  /// The values, by axis, with which steps were measured, if any was.
  std::optional<std::vector<std::vector<std::string>>> measured_with;

  std::size_t combinations() const;
  std::size_t points() const { return workloads.size() * candidates.size() * combinations(); }
  /// Returns a point of the grid. Workloads vary slowest, then candidates.
  SweepPoint point(std::size_t index) const;
  /// Returns the value of each axis in a combination.
  std::vector<const SweepAxis::Value*> values_of(std::size_t combination) const;
  /// Returns all options of a combination: first those of all points, then those that vary.
  std::vector<StudyOption> options_of(std::size_t combination) const;
};

/// Parses the text of `file`. `point` has the options that a study may give. Throws InputError.
SweepStudy read_sweep_study(std::string_view text, const std::string& file, const CLI::App& point);

/// Returns a digest of the points, the files that they name, and everything else that decides the output.
std::string digest_of(const SweepStudy& study, const std::string& program, bool intervals);

}  // namespace ddpsim
