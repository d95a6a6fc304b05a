// Any text as a workload file gives a workload that stays the same when written and read back, or
// an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/workload_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string once = ddpsim::format_workload(ddpsim::parse_workload(text, "fuzz"));
    const std::string twice = ddpsim::format_workload(ddpsim::parse_workload(once, "fuzz"));
    if (once != twice) std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
