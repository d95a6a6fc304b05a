// Handling of sockets when a process forks or ends.
#pragma once

namespace simulated_gpu {

void close_all_sockets();
/// Called in a forked child, because the sockets are its parent's.
void forget_sockets();

}  // namespace simulated_gpu
