// Any text as the file of a sweep gives a sweep or an InputError. Without its incomplete end, it
// gives the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/sweep_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto sweep = ddpsim::read_sweep(text, "fuzz");
    if (!sweep) return 0;
    if (sweep->whole > size || text[sweep->whole - 1] != '\n') std::abort();
    if (sweep->lines.size() > sweep->header.points) std::abort();
    const auto again = ddpsim::read_sweep(text.substr(0, sweep->whole), "fuzz");
    if (!again || again->lines.size() != sweep->lines.size()) std::abort();
    const auto header = ddpsim::read_sweep(ddpsim::sweep_header_line(sweep->header), "fuzz");
    if (!header || header->header != sweep->header) std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
