#include "signal_text.hpp"

#include <fmt/format.h>

#include <cstring>

namespace ddpsim {

std::string signal_text(int signal) {
  const char* const text = sigdescr_np(signal);
  return fmt::format("signal {}{}", signal, text != nullptr ? fmt::format(" ({})", text) : "");
}

}  // namespace ddpsim
