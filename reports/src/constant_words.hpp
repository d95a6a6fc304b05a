// What a constant of the pipeline cost model is, for people who have not read the cost model.
#pragma once

#include <string_view>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// From this size on a fit is judged: what lies below is latency alone.
inline constexpr Bytes kSmallestJudged{1 << 10};

struct ConstantWords {
  std::string_view unit;     ///< "us", "GB/s", "share"
  std::string_view meaning;  ///< a few words
};

/// By its name in a cluster file: "hop_us". Empty where it is not known.
ConstantWords constant_words(std::string_view constant);

}  // namespace ddpsim
