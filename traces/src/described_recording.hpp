// Members of ddpsim.workload/1 that describe a recorded step. The representative rank's are at the
// root, each other rank's under "ranks". The writer writes them, the reader knows their keys, and
// the schema is generated from them.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// A recorded step, ready to be written.
struct ShownRecording {
  const Recorded& recorded;
  const StatedCosts* host_costs = nullptr;  ///< null: they are written elsewhere
};
/// Members of a recording, in two groups, because a workload has other members in between.
const Described<ShownRecording>& described_recording();
const Described<Recorded>& described_circumstances();

// Nested objects.
const Described<Duration>& described_work();
const Described<Backward>& described_backward();
const Described<ReadyEvent>& described_ready();
const Described<ShownRecording>& described_host();
const Described<Launches>& described_launches();
const Described<PartTimes>& described_host_times();
const Described<DataLoading>& described_data_loading();
const Described<HostThreads>& described_threads();
const Described<EarlierMicroBatches>& described_earlier();
const Described<RecordedWith>& described_recorded_with();
const Described<RecordedCollective>& described_collective();
const Described<StepSample>& described_recorded_step();

}  // namespace ddpsim
