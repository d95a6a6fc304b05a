#include "listening.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "ddpsim/formats/quote.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0)
    throw JobEnded(
        fmt::format("rank 0 cannot listen at {}: {}. Set MASTER_ADDR to a name or an address of "
                    "rank 0's host",
                    in_quotes(host), gai_strerror(failed)));
  return {found, &freeaddrinfo};
}

std::string text_of(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

bool is_loopback(const addrinfo& one) {
  constexpr unsigned kLoopbackNet = 127;
  constexpr unsigned kFirstByte = 24;
  if (one.ai_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(one.ai_addr)->sin_addr.s_addr) >>
               kFirstByte ==
           kLoopbackNet;
  return one.ai_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(one.ai_addr)->sin6_addr);
}

/// Whether `host` is the name of a host. Debian's hosts file gives "node0" the address 127.0.1.1 on
/// node0 itself. A user who writes an address or localhost means it.
bool is_name_of_a_host(const std::string& host, const std::string& address) {
  return host != address && !host.starts_with("localhost") && !host.starts_with("ip6-");
}

void set_port(sockaddr* address, std::uint16_t port) {
  reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);  // same offset in both families
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

/// Opens a socket that listens at this address. Returns -1 with errno on failure.
int listen_at(const addrinfo& one) {
  const int listening =
      ::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, one.ai_protocol);
  if (listening < 0) return -1;
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (one.ai_family == AF_INET6)
    setsockopt(listening, IPPROTO_IPV6, IPV6_V6ONLY, &on,
               sizeof on);  // :: must not include 0.0.0.0
  if (bind(listening, one.ai_addr, one.ai_addrlen) == 0 && listen(listening, SOMAXCONN) == 0)
    return listening;
  const int reason = errno;
  close(listening);
  errno = reason;
  return -1;
}

}  // namespace

Listening listen_on(const std::string& host, std::uint16_t port) {
  const Addresses addresses = addresses_of(host, port);
  Listening listening{.sockets = {}, .port = port, .caution = ""};
  std::set<std::string> seen;
  std::string tried;
  int reason = 0;
  bool only_loopback = true;
  for (addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const std::string address = text_of(one->ai_addr, one->ai_addrlen);
    // /etc/hosts may give a host the same address twice.
    if (!seen.insert(address).second) continue;
    set_port(one->ai_addr, listening.port);
    const int socket = listen_at(*one);
    if (socket >= 0) {
      listening.sockets.push_back(socket);
      // If port 0 was requested, the other addresses use the same port.
      listening.port = port_of(socket);
      only_loopback = only_loopback && is_loopback(*one);
      if (is_name_of_a_host(host, address))
        listening.caution = fmt::format(
            "{} means {} on rank 0's host, where other hosts do not come: give every rank an "
            "address as MASTER_ADDR",
            legible(host), address);
      continue;
    }
    tried += (tried.empty() ? "" : ", ") + address;
    // One address family may be disabled, or belong to another host. A port in use is a different
    // problem and is reported first.
    const bool elsewhere = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
    if (reason == 0 || !elsewhere) reason = errno;
    if (!elsewhere) break;
  }
  if (!only_loopback) listening.caution.clear();
  const bool none_is_ours = reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT;
  if (reason == 0 || (none_is_ours && !listening.sockets.empty())) return listening;
  close_all(listening);
  if (none_is_ours)
    throw JobEnded(
        fmt::format("MASTER_ADDR={} ({}) is not an address of this host, where rank 0 runs: set it "
                    "to an address of rank 0's host",
                    legible(host), tried));
  throw JobEnded(fmt::format("rank 0 cannot listen on port {} of {}: {}. Set another MASTER_PORT",
                             port, legible(host), std::strerror(reason)));
}

void close_all(const Listening& listening) {
  for (const int socket : listening.sockets) close(socket);
}

}  // namespace ddpsim
