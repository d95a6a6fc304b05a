// Streams: each takes its operations in order, one at a time; streams know of each other through events and collectives alone.
// An operation reads when it begins. What it writes is seen when it ends; until then there is NaN. Who writes what another
// operation is reading, or where it is writing, tears that one's result: NaN too. So whatever is not ordered shows in sums.
//
// Nobody drives the devices: whoever looks brings them up to the present.
#pragma once

#include "machine.hpp"

namespace simulated_gpu {

/// All that happens until `to`, in the order of time.
void advance_devices(std::int64_t to);
/// When something will happen next; kNever.
std::int64_t next_on_devices();

Stream* new_stream(int device);
/// Waits while the queue is full. What it begins and ends with is filled in.
void enqueue(Stream& stream, Operation operation);
/// Waits until all that it holds now is done.
void drain(Stream& stream);
void drain_device(int device);
/// Its collectives of this rank wait no longer.
void end_collectives(int communicator, int rank);

/// For whoever reads the end of a test that hangs.
void describe_streams();

/// On which this thread's calls work, whatever number the program knows it by.
int physical_device();

}  // namespace simulated_gpu
