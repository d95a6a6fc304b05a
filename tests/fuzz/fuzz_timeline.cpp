// Any bytes as a timeline file give spans that do not end before they start, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/timeline_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::Timeline timeline = ddpsim::parse_timeline(text, "fuzz.json");
    for (const ddpsim::RankTimeline& rank : timeline.ranks)
      for (const ddpsim::Span& span : rank.spans)
        if (span.end < span.start) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
