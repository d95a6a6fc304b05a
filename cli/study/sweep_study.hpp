// A ddpsim.study/1 file as a grid: every workload on every candidate with every combination of options that vary.
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

/// An option of which each point has one value.
struct SweepAxis {
  struct Value {
    std::string json;                 ///< as a token: "25", "\"fp16\"", "null": not given
    std::vector<std::string> values;  ///< as in StudyOption; empty: not given
  };
  std::string option;  ///< "bucket-cap-mb"
  StudyOption given(const std::vector<std::string>& one) const { return {"--" + option, one}; }
  std::vector<Value> values;
};

struct SweepPoint {
  std::size_t workload = 0;
  std::size_t candidate = 0;
  std::size_t combination = 0;  ///< of values of the axes, the last one fastest
};

struct SweepStudy {
  std::string file;
  std::vector<std::string> workloads;
  std::vector<Candidate> candidates;
  std::vector<StudyOption> options;  ///< of all points
  std::vector<SweepAxis> axes;
  /// By axis, the values with which steps were measured; absent: none was.
  std::optional<std::vector<std::vector<std::string>>> measured_with;

  std::size_t combinations() const;
  std::size_t points() const { return workloads.size() * candidates.size() * combinations(); }
  /// Workloads slowest, then candidates.
  SweepPoint point(std::size_t index) const;
  /// By axis, the value a combination has.
  std::vector<const SweepAxis::Value*> values_of(std::size_t combination) const;
  /// All that is said of a combination, options of all points first.
  std::vector<StudyOption> options_of(std::size_t combination) const;
};

/// What `file` holds. `point`: the options that a study may give. Throws InputError.
SweepStudy read_sweep_study(std::string_view text, const std::string& file, const CLI::App& point);

/// Of the points, of files they name and of whatever else decides what is written.
std::string digest_of(const SweepStudy& study, const std::string& program, bool intervals);

}  // namespace ddpsim
