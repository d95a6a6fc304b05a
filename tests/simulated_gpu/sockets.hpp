// What becomes of sockets when a process forks or ends.
#pragma once

namespace simulated_gpu {

void close_all_sockets();
/// In a forked child: they are its parent's.
void forget_sockets();

}  // namespace simulated_gpu
