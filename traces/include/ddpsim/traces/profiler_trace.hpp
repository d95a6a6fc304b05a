// Traces of the PyTorch profiler (Kineto). They are streamed, so memory does not grow with the
// file.
#pragma once

#include <string>

#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Imports one iteration of an uncompressed trace. `file` names it in messages. Throws InputError.
Imported import_profiler_trace(const ByteSource& source, const std::string& file,
                               const ImportOptions& options);

}  // namespace ddpsim
