// Messages over a TCP socket: a count of bytes, then the bytes. A message holds fields in the same manner.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ddpsim {

using Message = std::vector<std::string>;

/// False when the other side is gone.
bool send_message(int socket, const Message& message);
/// Absent when the other side is gone, sends what is no message, or nothing within `timeout` (negative: for ever);
/// `timed_out` tells the latter apart.
std::optional<Message> receive_message(int socket, std::chrono::milliseconds timeout,
                                       bool* timed_out = nullptr);

}  // namespace ddpsim
