// Any bytes as a traced model: a model that can be estimated, or an InputError, never anything else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::ModelDescription description = ddpsim::parse_model_file(text, "fuzz.json");
    const ddpsim::Workload workload =
        ddpsim::estimate_workload(ddpsim::parse_estimate_spec("fuzz.json@H100:bf16", description),
                                  ddpsim::find_gpu("H100").value());
    if (!workload.backward || workload.backward->ready.empty()) __builtin_trap();
    if (workload.backward->duration < ddpsim::Duration()) __builtin_trap();
    for (const ddpsim::ReadyEvent& event : workload.backward->ready)
      if (event.parameter >= workload.parameters.size()) __builtin_trap();
    for (const std::int64_t kernels : workload.launches->backward)
      if (kernels < 0) __builtin_trap();
    if (workload.activations->bytes.count() < 0) __builtin_trap();
  } catch (const ddpsim::InputError&) {
  }
  return 0;
}
