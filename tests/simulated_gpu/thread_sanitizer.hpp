// What a thread sanitizer in the program is told about the GPU, if there is one.
//
// The sanitizer sees the program's threads. It does not see how this library orders threads (the
// baton, the machine's lock) or which thread did an operation's work. So it is told the order that
// CUDA guarantees. A stream is a thread. An operation comes after its launch, after the operation
// before it, and after the event that it waits for. A host that waits for a stream or an event
// continues after it.
//
// Nothing else orders them. So a call that the program lacks is a race in the sanitizer's report,
// in whatever order things happened.
#pragma once

#include <cstdint>

#include "machine.hpp"

namespace simulated_gpu {

bool thread_sanitizer_is_here();

/// While an object exists, the sanitizer ignores this thread's reads and writes.
class Unseen {
 public:
  Unseen();
  ~Unseen();
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

void tell_of_new(const Stream& stream);
void tell_of_end(const Stream& stream);
/// Reports that this thread launches the stream's next operation.
void tell_of_launch(const Stream& stream);
/// Reports that this thread continues after all work of the stream, or after a recording of an
/// event.
void tell_of_wait_for(const Stream& stream);
void tell_of_wait_for(int event, std::int64_t recording);
/// Reports a synchronous copy of this thread in a Call.
void tell_of_copy(const Range& from, const Range& to);
/// Reports that a block's next owner comes after the earlier uses by host and device.
void tell_of_block_taken(const std::byte* block);
void tell_of_block_given(const std::byte* block);

}  // namespace simulated_gpu
