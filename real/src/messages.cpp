#include "messages.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ddpsim {
namespace {

using Instant = std::chrono::steady_clock::time_point;

/// Returns false after the deadline.
bool wait_for(int socket, short event, Instant deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wanted{socket, event, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0;
  }
}

}  // namespace

bool try_again() {
  return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

bool send_message(int socket, const Message& message, Instant deadline) {
  const std::string bytes = encoded(message);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    if (!wait_for(socket, POLLOUT, deadline)) return false;
    const ssize_t count =
        send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && try_again()) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<Message> receive_message(int socket, Speaker from, Instant deadline,
                                       bool* timed_out) {
  if (timed_out != nullptr) *timed_out = false;
  MessageDecoder decoder(from);
  std::array<char, 1 << 16> piece{};
  while (decoder.state() == MessageDecoder::State::incomplete) {
    if (!wait_for(socket, POLLIN, deadline)) {
      if (timed_out != nullptr) *timed_out = true;
      return std::nullopt;
    }
    const ssize_t count =
        recv(socket, piece.data(), std::min(piece.size(), decoder.wants()), MSG_DONTWAIT);
    if (count < 0 && try_again()) continue;
    if (count <= 0) return std::nullopt;
    decoder.take({piece.data(), static_cast<std::size_t>(count)});
  }
  if (decoder.state() == MessageDecoder::State::refused) return std::nullopt;
  return decoder.take_message();
}

}  // namespace ddpsim
