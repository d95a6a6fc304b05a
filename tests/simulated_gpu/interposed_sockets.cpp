// Sockets of the program, over the kernel's own loopback. The machine counts sent bytes, so a
// receiver knows what is on its way. The kernel's speed of delivery therefore affects nothing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "real_calls.hpp"
#include "scheduler.hpp"
#include "sockets.hpp"

using namespace simulated_gpu;

namespace {

/// A process's end of a connection, as indices into the machine.
struct End {
  int out;
  int in;
};

std::map<int, End>& ends() {
  static std::map<int, End> all;
  return all;
}

constexpr std::int64_t kInFlight = 64 << 10;  // always less than the kernel buffers

/// The port, or 0 if the address is not on this host.
int port_of(int socket, bool peer) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if ((peer ? getpeername(socket, raw, &size) : getsockname(socket, raw, &size)) != 0) return 0;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return 0;
  return ntohs(reinterpret_cast<sockaddr_in*>(raw)->sin_port);  // same place in both structs
}

int direction(int from_port, int to_port, bool make) {
  Machine& m = machine();
  for (int i = m.connections_used - 1; i >= 0; --i)
    if (m.connections[i].from_port == from_port && m.connections[i].to_port == to_port) {
      if (make) m.connections[i] = {from_port, to_port, 0, 0, false};  // ports are reused
      return i;
    }
  if (m.connections_used == kConnections) give_up("more than %d connections", kConnections / 2);
  m.connections[m.connections_used] = {from_port, to_port, 0, 0, false};
  return m.connections_used++;
}

void connected(int socket, bool make) {
  const int own = port_of(socket, false);
  const int peer = port_of(socket, true);
  if (own != 0 && peer != 0)
    ends()[socket] = {direction(own, peer, make), direction(peer, own, make)};
}

Listener* listener_at(int port, bool make) {
  for (Listener& listener : machine().listeners) {
    if (listener.port == port) return &listener;
    if (listener.port == 0) {
      if (!make) return nullptr;
      listener.port = port;
      return &listener;
    }
  }
  give_up("more than %d listening sockets", kListeners);
}

Listener* listener_of(int socket) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    return nullptr;
  return listener_at(port_of(socket, false), true);
}

void close_end(const End& end) {
  machine().connections[end.out].closed = true;
  wake(kSockets);
}

bool readable(int descriptor) {
  if (const auto end = ends().find(descriptor); end != ends().end()) {
    const Connection& in = machine().connections[end->second.in];
    return in.sent > in.received || in.closed;
  }
  if (const Listener* listener = listener_of(descriptor)) return listener->waiting > 0;
  pollfd one{descriptor, POLLIN, 0};
  return real::poll(&one, 1, 0) != 0;
}

bool writable(int descriptor) {
  if (const auto end = ends().find(descriptor); end != ends().end()) {
    const Connection& out = machine().connections[end->second.out];
    return out.sent - out.received < kInFlight || machine().connections[end->second.in].closed;
  }
  pollfd one{descriptor, POLLOUT, 0};
  return real::poll(&one, 1, 0) != 0;
}

void wait_until_readable(int descriptor, const char* where) {
  while (!readable(descriptor)) wait_for({.where = where, .key = kSockets});
}

bool does_not_wait(int socket, int flags) {
  static const auto next = real::find<int (*)(int, int, ...)>("fcntl");
  return (flags & MSG_DONTWAIT) != 0 || (next(socket, F_GETFL) & O_NONBLOCK) != 0;
}

/// Waits for sent data, which the kernel has or will have in a moment.
void await_delivery(int descriptor, short event = POLLIN) {
  constexpr int kMilliseconds = 5000;
  pollfd one{descriptor, event, 0};
  real::poll(&one, 1, kMilliseconds);
}

/// The result of a non-blocking connect.
int finish_connecting(int socket) {
  await_delivery(socket, POLLOUT);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0 ? 0 : -1;
}

}  // namespace

namespace simulated_gpu {

void close_all_sockets() {
  for (const auto& [socket, end] : ends()) close_end(end);
  ends().clear();
}

void forget_sockets() {
  ends().clear();
}

}  // namespace simulated_gpu

extern "C" {

int listen(int socket, int backlog) {
  static const auto next = real::find<decltype(&::listen)>("listen");
  const int status = next(socket, backlog);
  if (status == 0 && scheduled() && port_of(socket, false) != 0)
    listener_at(port_of(socket, false), true)->waiting = 0;
  return status;
}

int connect(int socket, const sockaddr* address, socklen_t size) {
  static const auto next = real::find<decltype(&::connect)>("connect");
  const bool interposed =
      scheduled() && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
  if (interposed) spend(machine().settings.message_ns);
  int status = next(socket, address, size);
  if (status != 0 && errno == EINPROGRESS && interposed) status = finish_connecting(socket);
  int kind = 0;
  socklen_t kind_size = sizeof kind;
  if (status != 0 || !interposed ||
      getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind, &kind_size) != 0 || kind != SOCK_STREAM)
    return status;
  connected(socket, true);
  ++listener_at(port_of(socket, true), true)->waiting;
  wake(kSockets);
  return 0;
}

int accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  static const auto next = real::find<decltype(&::accept4)>("accept4");
  if (!scheduled()) return next(socket, address, size, flags);
  while (Listener* const listener = listener_of(socket)) {
    if (listener->waiting > 0) {
      --listener->waiting;
      await_delivery(socket);
      break;
    }
    if (does_not_wait(socket, 0)) {
      errno = EAGAIN;
      return -1;
    }
    wait_for({.where = "accepting a connection", .key = kSockets});
  }
  const int connection = next(socket, address, size, flags);  // a shut-down socket fails at once
  if (connection >= 0) connected(connection, false);
  return connection;
}

int accept(int socket, sockaddr* address, socklen_t* size) {
  return accept4(socket, address, size, 0);
}

int shutdown(int socket, int how) {
  static const auto next = real::find<decltype(&::shutdown)>("shutdown");
  const int status = next(socket, how);
  if (!scheduled()) return status;
  if (const auto end = ends().find(socket); end != ends().end()) {
    if (how != SHUT_RD) close_end(end->second);
    if (how != SHUT_WR) machine().connections[end->second.in].closed = true;
  }
  wake(kSockets);
  return status;
}

int close(int descriptor) {
  if (scheduled()) {
    if (const auto end = ends().find(descriptor); end != ends().end()) {
      close_end(end->second);
      ends().erase(end);
    }
  }
  return real::close(descriptor);
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  static const auto next = real::find<decltype(&::send)>("send");
  if (!scheduled()) return next(socket, bytes, size, flags);
  const auto end = ends().find(socket);
  if (end == ends().end()) return next(socket, bytes, size, flags);
  spend(machine().settings.message_ns);
  Connection& out = machine().connections[end->second.out];
  const Connection& in = machine().connections[end->second.in];
  while (out.sent - out.received >= kInFlight && !in.closed) {
    if (does_not_wait(socket, flags)) {
      errno = EAGAIN;
      return -1;
    }
    wait_for({.where = "sending", .key = kSockets});
  }
  const auto room =
      static_cast<size_t>(std::max<std::int64_t>(1, kInFlight - (out.sent - out.received)));
  const ssize_t sent = next(socket, bytes, std::min(size, room), flags);
  if (sent > 0) out.sent += sent;
  wake(kSockets);
  return sent;
}

ssize_t recv(int socket, void* bytes, size_t size, int flags) {
  static const auto next = real::find<decltype(&::recv)>("recv");
  if (!scheduled()) return next(socket, bytes, size, flags);
  const auto end = ends().find(socket);
  if (end == ends().end()) return next(socket, bytes, size, flags);
  if (!readable(socket) && does_not_wait(socket, flags)) {
    errno = EAGAIN;
    return -1;
  }
  wait_until_readable(socket, "receiving");
  Connection& in = machine().connections[end->second.in];
  const std::int64_t there = in.sent - in.received;
  const auto wanted = there > 0 ? std::min(size, static_cast<size_t>(there)) : size;
  size_t received = 0;
  do {
    await_delivery(socket);
    const ssize_t part =
        next(socket, static_cast<char*>(bytes) + received, wanted - received, flags);
    if (part <= 0) {
      if (received == 0) return part;
      break;
    }
    received += static_cast<size_t>(part);
  } while (there > 0 && received < wanted);
  in.received += static_cast<std::int64_t>(received);
  wake(kSockets);
  return static_cast<ssize_t>(received);
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  static const auto next = real::find<decltype(&::read)>("read");
  if (scheduled()) wait_until_readable(descriptor, "reading");
  return next(descriptor, bytes, size);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto next = real::find<decltype(&::write)>("write");
  const ssize_t written = next(descriptor, bytes, size);
  if (scheduled()) wake(kSockets);
  return written;
}

int poll(pollfd* descriptors, nfds_t count, int timeout) {
  if (!scheduled()) return real::poll(descriptors, count, timeout);
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::int64_t deadline = timeout < 0 ? kNever : machine().now + timeout * kNsPerMs;
  for (;;) {
    int ready = 0;
    for (nfds_t i = 0; i < count; ++i) {
      pollfd& one = descriptors[i];
      one.revents = 0;
      if ((one.events & POLLIN) != 0 && readable(one.fd)) one.revents |= POLLIN;
      if ((one.events & POLLOUT) != 0 && writable(one.fd)) one.revents |= POLLOUT;
      if (one.revents != 0) ++ready;
    }
    if (ready > 0 || machine().now >= deadline) return ready;
    wait_for({.where = "polling", .key = kSockets, .deadline = deadline});
  }
}

}  // extern "C"
