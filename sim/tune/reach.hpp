// How far a predicted gain can be trusted: whether a setting may be recommended before anything is
// measured.
//
// A gain that is worth it (rule.hpp) is recommended if both of these hold:
// - Sizes: the all-reduces that the setting creates are like ones that were measured
// (measured_sizes.hpp).
// - Neighbours: it gains a measurable amount and costs no more than allowed in similar jobs. These
// have one node more or less, NICs 5 % faster or slower, or the next older or newer minor version
// of NCCL.
// So two neighbouring jobs never get opposite advice. If one is told to set something, it gains at
// the other too, which is told to set it as well or to measure first. Possible PyTorch versions are
// checked separately (advice_by_version.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gain.hpp"

namespace ddpsim {

struct Doubted {
  Doubt doubt;
  std::string because;  ///< a sentence without a full stop
};

class Reach {
 public:
  /// Gains are counted over what each neighbouring job does currently. The explanation of a
  /// measured step applies to the neighbours too.
  Reach(const Gains& current, const TuneOptions& tuning);

  /// The reason not to recommend a change whose gain is worth it. Absent if there is none.
  std::optional<Doubted> doubt(const Change& change, const WeighedGain& gain,
                               const ChangeTraits& traits) const;

 private:
  struct Neighbour {
    /// Follows the name of a job: "on 33 nodes".
    std::string difference;
    std::vector<Gains> gains;  ///< one for each reading
    Duration measurable;
    WeighedGain of(const Change& change, const ChangeTraits& traits) const;
  };
  std::optional<Doubted> doubt_sizes(const Change& change) const;

  Job job_;
  std::vector<Neighbour> neighbours_;
};

/// What to measure to decide on a doubted change. `gains` are over what the job does currently.
MeasureFirst measure_first(const Gains& gains, const Change& change, const WeighedGain& gain,
                           Doubted doubted, Duration measurable);

}  // namespace ddpsim
