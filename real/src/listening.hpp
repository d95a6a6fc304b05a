// Where rank 0 listens: at the addresses that MASTER_ADDR means on its host, and at no other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddpsim {

/// TCP sockets that listen, one for each address of a name, all on one port. Whoever holds them closes them.
struct Listening {
  std::vector<int> sockets;
  std::uint16_t port = 0;
  std::string caution;  ///< why others may not reach it, though nothing failed; else empty
};

/// `host` is a name or an address, IPv4 or IPv6; loopback stays loopback, and only 0.0.0.0 or :: mean every interface. Port 0
/// means any free one. Throws JobEnded where no such address is this host's, or where the port is taken.
Listening listen_on(const std::string& host, std::uint16_t port);

void close_all(const Listening& listening);

}  // namespace ddpsim
