// Streams. Each runs its operations in order, one at a time. Only events and collectives order
// streams among each other.
//
// An operation reads when it begins. Its output becomes visible when it ends; until then the memory
// holds NaN. If an operation writes memory that another one is reading or writing, the result of
// the other is also NaN. So missing order shows in sums.
//
// No thread drives the devices. Any thread that looks at them brings them up to the present.
#pragma once

#include "machine.hpp"

namespace simulated_gpu {

/// Processes all events up to `to`, in order of time.
void advance_devices(std::int64_t to);
/// The time of the next event, or kNever.
std::int64_t next_on_devices();

Stream* new_stream(int device);
/// Waits while the queue is full. Fills in the operation's begin and end conditions.
void enqueue(Stream& stream, Operation operation);
/// Waits until all operations that it holds now have finished.
void drain(Stream& stream);
void drain_device(int device);
/// Ends the wait of this rank's collectives in the communicator.
void end_collectives(int communicator, int rank);

/// Describes the streams for readers of a test that hangs.
void describe_streams();

/// The physical device of this thread's calls.
int physical_device();

}  // namespace simulated_gpu
