// What ddpsim.workload/1 holds of a recorded step: of the representative rank at its root, of each rank under "ranks". The
// writer writes by it, the reader knows its keys, and the schema is made of it.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// A recorded step as it is written.
struct ShownRecording {
  const Recorded& recorded;
  const StatedCosts* host_costs = nullptr;  ///< null: they stand elsewhere
};
/// Members of a recording, in two groups: a workload has others in between.
const Described<ShownRecording>& described_recording();
const Described<Recorded>& described_circumstances();

// Objects among them.
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
