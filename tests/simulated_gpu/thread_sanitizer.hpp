// What a thread sanitizer in the program is told of the GPU, where there is one. It sees what the program's threads do, and not
// what this library does: neither how that orders threads (the baton, the machine's lock) nor who happened to do an operation's
// work. So it is told, in CUDA's terms: a stream is a thread of its own; it does an operation behind its launch, behind the one
// before it and behind the event that it waits for; a host that waits for a stream or an event goes on behind that. Nothing else
// orders them. A call that the program lacks is then a race in the sanitizer's report, whatever the order in which things happened.
#pragma once

#include <cstdint>

#include "machine.hpp"

namespace simulated_gpu {

bool thread_sanitizer_is_here();

/// While one lives, what this thread reads and writes is this library's affair.
class Unseen {
 public:
  Unseen();
  ~Unseen();
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

void tell_of_new(const Stream& stream);
void tell_of_end(const Stream& stream);
/// This thread launches what the stream is to hold next.
void tell_of_launch(const Stream& stream);
/// This thread goes on behind all that the stream has done, or behind a recording of an event.
void tell_of_wait_for(const Stream& stream);
void tell_of_wait_for(int event, std::int64_t recording);
/// This thread copies at once, in a Call.
void tell_of_copy(const Range& from, const Range& to);
/// A block comes to its next owner behind what the host and the device did with it before.
void tell_of_block_taken(const std::byte* block);
void tell_of_block_given(const std::byte* block);

}  // namespace simulated_gpu
