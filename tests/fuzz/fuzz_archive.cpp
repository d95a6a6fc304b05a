// Any bytes taken for an archive become members whose places are inside it, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ddpsim::Archive archive = ddpsim::parse_archive(std::span(data, size), "fuzz");
    for (const ddpsim::ArchiveMember& member : archive.members)
      if (member.path.empty() || member.path.front() == '/' ||
          member.path.find("../") != std::string::npos ||
          (member.rank && *member.rank >= archive.ranks))
        std::abort();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
