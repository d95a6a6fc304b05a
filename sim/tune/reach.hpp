// How far a predicted gain reaches: whether a setting may be advised before anything is measured.
//
// A gain that is worth it (rule.hpp) is advised where
//   sizes      the all-reduces that the setting creates are like ones that were measured (measured_sizes.hpp);
//   neighbours it gains what can be measured, and costs no more than it may, with one node more and one less, with NICs 5 %
//              faster and slower, and with the next older and newer minor version of NCCL.
// Two neighbours are never advised the contrary: what is set for one gains at the other, so that the other is told to set it
// as well or to measure first. Versions of PyTorch that may run are held against it apart (advice_by_version.hpp).
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
  /// Gains are counted over what each of these jobs does today. What explains a measured step explains a neighbour's as well.
  Reach(const Gains& current, const TuneOptions& tuning);

  /// What speaks against advising a change whose gain is worth it; absent where nothing does.
  std::optional<Doubted> doubt(const Change& change, const WeighedGain& gain,
                               const ChangeTraits& traits) const;

 private:
  struct Neighbour {
    std::string difference;    ///< behind a job: "on 33 nodes"
    std::vector<Gains> gains;  ///< one for each reading
    Duration measurable;
    WeighedGain of(const Change& change, const ChangeTraits& traits) const;
  };
  std::optional<Doubted> doubt_sizes(const Change& change) const;

  Job job_;
  std::vector<Neighbour> neighbours_;
};

/// What decides whether to make a change that is doubted. `gains`: over what the job does today.
MeasureFirst measure_first(const Gains& gains, const Change& change, const WeighedGain& gain,
                           Doubted doubted, Duration measurable);

}  // namespace ddpsim
