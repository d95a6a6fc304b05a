// PyTorch profiler (Kineto) traces, streamed: memory does not grow with the file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Supplies the next bytes of the uncompressed trace into `buffer` (at most `capacity`); 0 at the
/// end.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t capacity)>;

/// Imports one iteration of a trace. `file` names it in messages. Throws InputError.
Imported import_profiler_trace(const ByteSource& source, const std::string& file,
                               const ImportOptions& options);

}  // namespace ddpsim
