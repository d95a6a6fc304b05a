// Any bytes as an nsys database give a workload that its reader accepts, or an InputError.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "nsys_export.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text;
  try {
    const ddpsim::SqliteFile database(std::span(data, size), "fuzz");
    text = ddpsim::format_workload(ddpsim::import_nsys_export(database, {}).workload);
  } catch (const ddpsim::InputError&) {
    return 0;
  }
  // An uncaught error ends the run.
  ddpsim::parse_workload(text, "fuzz");
  return 0;
}
