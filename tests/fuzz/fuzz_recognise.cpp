// Any first bytes of a file are classified. A file that ddpsim does not read gets a hint.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "recognise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  for (const bool whole : {false, true}) {
    const ddpsim::Recognition recognised = ddpsim::recognise(head, whole);
    if (recognised.kind == ddpsim::Recognition::Kind::other && recognised.hint.empty())
      std::abort();
  }
  return 0;
}
