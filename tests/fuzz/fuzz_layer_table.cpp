// Any text becomes a workload its own reader accepts, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/layer_table.hpp"
#include "ddpsim/traces/workload_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view table(reinterpret_cast<const char*>(data), size);
  std::string text;
  try {
    text = ddpsim::format_workload(ddpsim::parse_layer_table(table, "fuzz").workload);
  } catch (const ddpsim::InputError&) {
    return 0;
  }
  ddpsim::parse_workload(text, "fuzz");  // an error here is ours: it ends the run
  return 0;
}
