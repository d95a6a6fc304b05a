// simdjson has no kernel for WebAssembly and would use the one that reads byte by byte. Its SSE 4.2
// kernel uses only instructions that WebAssembly has (intrinsics/x86intrin.h). The processor cannot
// be asked there, so this file chooses the kernel.
#include <simdjson.cpp>

namespace {

[[maybe_unused]] const simdjson::implementation* const chosen =
    simdjson::get_active_implementation() = simdjson::get_available_implementations()["westmere"];

}  // namespace
