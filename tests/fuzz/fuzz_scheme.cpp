// Any text as a scheme gives a scheme or a UsageError. A scheme that is written out and read back
// is the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ddpsim/formats/usage_error.hpp"
#include "scheme_arguments.hpp"

namespace {

std::string written(const ddpsim::Scheme& scheme) {
  std::string text(ddpsim::name_of(scheme));
  char before = ':';
  for (const auto& [key, value] : ddpsim::options_of(scheme)) {
    text += before + key + '=' + value;
    before = ',';
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string first;
  try {
    first = written(ddpsim::parse_scheme(text));
  } catch (const ddpsim::UsageError&) {
    return 0;
  }
  if (written(ddpsim::parse_scheme(first)) != first) std::abort();
  for (const int ranks : ddpsim::groups_of(ddpsim::parse_scheme(text), 8))
    if (ranks < 1) std::abort();
  return 0;
}
