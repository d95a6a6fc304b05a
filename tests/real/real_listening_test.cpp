// Rank 0 listens only at the requested address.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "listening.hpp"
#include "store.hpp"

using namespace ddpsim;

namespace {

/// The address to which a socket is bound.
std::string bound_to(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET6_ADDRSTRLEN] = "";
  const void* bytes =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  return inet_ntop(address.ss_family, bytes, text, sizeof text);
}

bool reached_at(const std::string& address, std::uint16_t port) {
  const int tried = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  const bool reached = connect(tried, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  close(tried);
  return reached;
}

/// An IPv4 address of this host that is not loopback, or nothing.
std::string outer_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
              sizeof text);
    if (!std::string(text).starts_with("127.")) found = text;
  }
  freeifaddrs(all);
  return found;
}

bool has_ipv6() {
  const int tried = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = in6addr_loopback;
  const bool bound =
      tried >= 0 && bind(tried, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  if (tried >= 0) close(tried);
  return bound;
}

}  // namespace

TEST_CASE("real listening: all loopback addresses stay on loopback") {
  for (const char* address : {"127.0.0.1", "127.0.0.5"}) {
    const Listening listening = listen_on(address, 0);
    REQUIRE(listening.sockets.size() == 1);
    CHECK(bound_to(listening.sockets[0]) == address);
    CHECK(reached_at(address, listening.port));
    CHECK_FALSE(reached_at("127.0.0.9", listening.port));
    if (const std::string outer = outer_address(); !outer.empty())
      CHECK_FALSE(reached_at(outer, listening.port));
    CHECK(listening.caution.empty());
    close_all(listening);
  }
}

TEST_CASE("real listening: binds only the given address, and all interfaces only on request") {
  const std::string outer = outer_address();
  if (!outer.empty()) {
    const Listening listening = listen_on(outer, 0);
    CHECK(bound_to(listening.sockets.at(0)) == outer);
    CHECK(reached_at(outer, listening.port));
    CHECK_FALSE(reached_at("127.0.0.1", listening.port));
    close_all(listening);
  }
  const Listening everywhere = listen_on("0.0.0.0", 0);
  CHECK(reached_at("127.0.0.1", everywhere.port));
  CHECK(reached_at("127.0.0.9", everywhere.port));
  close_all(everywhere);
}

TEST_CASE("real listening: accepts IPv6 addresses") {
  if (!has_ipv6()) {
    MESSAGE("no IPv6 here: skipped");
    return;
  }
  const Listening listening = listen_on("::1", 0);
  CHECK(bound_to(listening.sockets.at(0)) == "::1");
  CHECK_FALSE(reached_at("127.0.0.1", listening.port));
  close_all(listening);
}

TEST_CASE("real listening: a name binds all its local addresses on one port") {
  const Listening listening = listen_on("localhost", 0);
  for (const int socket : listening.sockets) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    CHECK(ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port) == listening.port);
  }
  CHECK(listening.caution.empty());
  close_all(listening);
}

TEST_CASE("real listening: reports an address of another host") {
  CHECK_THROWS_WITH_AS(listen_on("192.0.2.7", 0),  // reserved for documentation
                       "MASTER_ADDR=192.0.2.7 (192.0.2.7) is not an address of this host, where "
                       "rank 0 runs: set it to an address of rank 0's host",
                       JobEnded);
}

TEST_CASE("real listening: reports a port in use and an unknown name") {
  const Listening taken = listen_on("127.0.0.1", 0);
  CHECK_THROWS_WITH_AS(listen_on("127.0.0.1", taken.port),
                       doctest::Contains("Set another MASTER_PORT"), JobEnded);
  close_all(taken);
  CHECK_THROWS_WITH_AS(listen_on("no such\nhost", 0), doctest::Contains("\"no such host\""),
                       JobEnded);
}
