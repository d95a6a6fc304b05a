// Names of signals in messages.
#pragma once

#include <string>

namespace ddpsim {

/// "signal 9 (Killed)"
std::string signal_text(int signal);

}  // namespace ddpsim
