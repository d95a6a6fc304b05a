// Checks a recommendation against both causes of the current step's residual.
#pragma once

#include "gain.hpp"

namespace ddpsim {

/// Recommends only what is worth it whichever cause applies; otherwise keeps the current setting.
/// `by_cause` then has the advice for each cause.
TuneResult tune_measured(const Job& job, const TuneOptions& tuning, Duration measured);

}  // namespace ddpsim
