// Any bytes as MODEL@GPU… give a specification within its limits, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::EstimateSpec spec = ddpsim::parse_estimate_spec(text);
    if (spec.gpu.empty() || spec.batch.value_or(1) < 1 || spec.tokens.value_or(1) < 1)
      __builtin_trap();
    if (spec.batch.value_or(1) > 1'000'000) __builtin_trap();
    if (spec.tokens && *spec.tokens > spec.description.most_tokens) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
