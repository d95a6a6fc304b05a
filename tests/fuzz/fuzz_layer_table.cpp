// Any text as a layer table gives a workload that its reader accepts, or an InputError.
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
  // An uncaught error ends the run.
  ddpsim::parse_workload(text, "fuzz");
  return 0;
}
