// Any text as a DDP log gives a workload that can be written and read, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/ddp_log.hpp"
#include "ddpsim/traces/workload_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ddpsim::Imported imported;
  try {
    imported = ddpsim::parse_ddp_log(text, "fuzz", {});
  } catch (const ddpsim::InputError&) {
    return 0;
  }
  const std::string once = ddpsim::format_workload(imported.workload);
  if (ddpsim::format_workload(ddpsim::parse_workload(once, "written")) != once) std::abort();
  return 0;
}
