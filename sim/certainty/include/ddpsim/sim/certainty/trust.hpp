// How far to trust an answer: its interval, the measured step it was compared with, and warnings.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/certainty/measured_correction.hpp"

namespace ddpsim {

/// Warnings, one sentence each; those that overturn the answer come first.
class Warnings {
 public:
  Warnings() = default;
  /// The first `overturning` of `texts` overturn the answer.
  Warnings(std::vector<std::string> texts, std::size_t overturning)
      : texts_(std::move(texts)), overturning_(overturning) {}

  void add(std::string warning) { texts_.push_back(std::move(warning)); }
  void add(const std::vector<std::string>& warnings) {
    texts_.insert(texts_.end(), warnings.begin(), warnings.end());
  }
  void overturn(std::string warning) {
    texts_.insert(texts_.begin(), std::move(warning));
    ++overturning_;
  }

  const std::vector<std::string>& texts() const { return texts_; }
  /// Returns how many of the first texts overturn the answer; every output must show these.
  std::size_t overturning() const { return overturning_; }

 private:
  std::vector<std::string> texts_;
  std::size_t overturning_ = 0;
};

struct Trust {
  Confidence confidence;
  std::optional<Replay> replay;  ///< absent if no step was measured
  /// The reported times attribute the residual of the measured step to compute; this has the
  /// alternative.
  std::optional<MeasuredCorrection> correction;
  Warnings warnings;
};

}  // namespace ddpsim
