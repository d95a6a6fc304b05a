// Any bytes as a quantity give either a value within bounds or a problem.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/quantity.hpp"

namespace {

template <typename T>
void check(const ddpsim::Parsed<T>& parsed) {
  if (parsed.value.has_value() != parsed.problem.empty()) __builtin_trap();
  if (parsed.value && *parsed.value < T()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(ddpsim::parse_duration(text));
  check(ddpsim::parse_bytes(text));
  check(ddpsim::parse_bandwidth(text));
  return 0;
}
