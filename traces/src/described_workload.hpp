// Members of ddpsim.workload/1 outside recorded steps (described_recording.hpp).
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

inline constexpr const char* kWorkloadSchema = "ddpsim.workload/1";

const Described<Workload>& described_workload();

// Nested objects.
const Described<SampleWork>& described_sample();
const Described<Parameter>& described_parameter();
const Described<BufferGroup>& described_buffer();
const Described<Activations>& described_activations();
const Described<RankRecording>& described_rank();

}  // namespace ddpsim
