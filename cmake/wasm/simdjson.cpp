// simdjson has no kernel for WebAssembly, and would take the one that reads byte by byte. Its kernel for SSE 4.2 is made of
// instructions that WebAssembly has (intrinsics/x86intrin.h); there is no processor to ask, so it is chosen here.
#include <simdjson.cpp>

namespace {

[[maybe_unused]] const simdjson::implementation* const chosen =
    simdjson::get_active_implementation() = simdjson::get_available_implementations()["westmere"];

}  // namespace
