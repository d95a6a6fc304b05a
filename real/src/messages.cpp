#include "messages.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace ddpsim {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 30;

void put_count(std::string& text, std::uint64_t count) {
  for (int shift = 0; shift < 64; shift += 8) text.push_back(static_cast<char>(count >> shift));
}

std::uint64_t count_at(const std::string& text, std::size_t place) {
  std::uint64_t count = 0;
  for (unsigned i = 0; i < 8; ++i)
    count |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[place + i])) << (8 * i);
  return count;
}

std::optional<Message> fields_of(const std::string& body) {
  Message message;
  std::size_t place = 0;
  while (place < body.size()) {
    if (body.size() - place < 8) return std::nullopt;
    const std::uint64_t size = count_at(body, place);
    place += 8;
    if (size > body.size() - place) return std::nullopt;
    message.push_back(body.substr(place, size));
    place += size;
  }
  return message;
}

enum class Got { all, nothing_in_time, gone };

Got receive_all(int socket, std::string& text, std::chrono::steady_clock::time_point deadline,
                bool for_ever) {
  std::size_t have = 0;
  while (have < text.size()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wanted{socket, POLLIN, 0};
    const int ready =
        poll(&wanted, 1, for_ever ? -1 : static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Got::nothing_in_time;
    const ssize_t read = recv(socket, text.data() + have, text.size() - have, 0);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return Got::gone;
    have += static_cast<std::size_t>(read);
  }
  return Got::all;
}

}  // namespace

bool send_message(int socket, const Message& message) {
  std::string body;
  for (const std::string& field : message) {
    put_count(body, field.size());
    body += field;
  }
  std::string bytes;
  put_count(bytes, body.size());
  bytes += body;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<Message> receive_message(int socket, std::chrono::milliseconds timeout,
                                       bool* timed_out) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const bool for_ever = timeout.count() < 0;
  if (timed_out != nullptr) *timed_out = false;
  std::string count(8, '\0');
  Got got = receive_all(socket, count, deadline, for_ever);
  std::string body;
  if (got == Got::all) {
    if (count_at(count, 0) > kMostBytes) return std::nullopt;
    body.resize(count_at(count, 0));
    got = receive_all(socket, body, deadline, for_ever);
  }
  if (timed_out != nullptr) *timed_out = got == Got::nothing_in_time;
  if (got != Got::all) return std::nullopt;
  return fields_of(body);
}

}  // namespace ddpsim
