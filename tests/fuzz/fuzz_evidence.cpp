// Any text can be read as evidence: no reader throws. Each finding has a class, a place and a
// sentence that fits on one line. A form feed separates the text before the slowdown from the text
// after it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/evidence.hpp"

namespace {

void check(const std::vector<ddpsim::Finding>& findings) {
  for (const ddpsim::Finding& finding : findings) {
    if (ddpsim::name_of(finding.what).empty()) std::abort();
    if (finding.place.empty() || finding.says.size() < 20 || finding.says.size() > 20'000)
      std::abort();
    for (const std::string* text : {&finding.says, &finding.place})
      for (const char c : *text)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) std::abort();
  }
}

ddpsim::Evidence read(std::string_view text) {
  const std::vector<ddpsim::EvidenceText> texts = {
      {.file = "fuzz", .text = std::string(text), .node = "a"},
      {.file = "again", .text = std::string(text.substr(text.size() / 2)), .node = "b"}};
  return ddpsim::read_evidence(texts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\f');
  const ddpsim::Evidence before = read(text.substr(0, cut));
  const ddpsim::Evidence after = read(cut == std::string_view::npos ? text : text.substr(cut + 1));
  check(ddpsim::find_problems(before));
  check(ddpsim::find_problems(after));
  check(ddpsim::find_changes(before, after));
  // Without a change, there is no finding.
  if (!ddpsim::find_changes(after, after).empty()) std::abort();
  return 0;
}
