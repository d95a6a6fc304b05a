// Any bytes, in pieces of any size, give a workload that its reader accepts, or an InputError.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "ddpsim/traces/workload_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 97;
  std::size_t at = 0;
  const ddpsim::ByteSource source = [&](char* buffer, std::size_t capacity) {
    const std::size_t count = std::min({piece, capacity, size - at});
    std::copy_n(data + at, count, buffer);
    at += count;
    return count;
  };
  ddpsim::ImportOptions options;
  if (size % 2 == 1) options.timing = ddpsim::Timing::compacted;
  std::string text;
  try {
    text = ddpsim::format_workload(ddpsim::import_profiler_trace(source, "fuzz", options).workload);
  } catch (const ddpsim::InputError&) {
    return 0;
  }
  // An uncaught error ends the run.
  ddpsim::parse_workload(text, "fuzz");
  return 0;
}
