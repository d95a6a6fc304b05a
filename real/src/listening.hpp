// Opens rank 0's listening sockets. They use only the addresses that MASTER_ADDR has on this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddpsim {

/// Listening TCP sockets, one for each address of a name, all on one port. The owner closes them.
struct Listening {
  std::vector<int> sockets;
  std::uint16_t port = 0;
  /// Why other hosts may not reach it although nothing failed; otherwise empty.
  std::string caution;
};

/// `host` is a name or an IPv4 or IPv6 address. Loopback stays loopback, and only 0.0.0.0 or ::
/// mean every interface. Port 0 means any free port. Throws JobEnded if the address is not one of
/// this host's, or if the port is in use.
Listening listen_on(const std::string& host, std::uint16_t port);

void close_all(const Listening& listening);

}  // namespace ddpsim
