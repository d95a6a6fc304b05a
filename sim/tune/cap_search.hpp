// Every bucketing of one job, and the best of them.
#pragma once

#include "gain.hpp"

namespace ddpsim {

/// Under the job's own version, its measured step (where there is one) explained by one cause.
TuneResult search_caps(const Job& job, const TuneOptions& tuning,
                       const std::optional<MeasuredCause>& measured);

}  // namespace ddpsim
