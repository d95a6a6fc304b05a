// Any text as figures gives figures that can be validated against themselves, or an InputError.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "figure_sources.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::Figures figures = ddpsim::is_cap_table(text)
                                        ? ddpsim::figures_of_cap_table(text, "fuzz")
                                        : ddpsim::figures_of_document(text, "fuzz");
    const ddpsim::Validation found = ddpsim::validate(figures, figures);
    if (!std::isfinite(found.worst_abs_error_percent)) std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
