#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "host_clock.hpp"
#include "messages.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

constexpr auto kRetry = std::chrono::milliseconds(50);

std::int64_t number_in(const std::string& answer) {
  const auto number = parse_number<std::int64_t>(answer);
  if (!number) throw JobEnded(fmt::format("rank 0 answered {}, not a number", in_quotes(answer)));
  return *number;
}

int connect_once(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int connected = -1;
  for (const addrinfo* one = found; one != nullptr && connected < 0; one = one->ai_next) {
    const int tried = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (tried < 0) continue;
    if (connect(tried, one->ai_addr, one->ai_addrlen) == 0) {
      connected = tried;
    } else {
      close(tried);
    }
  }
  freeaddrinfo(found);
  return connected;
}

std::string address_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
              NI_NUMERICHOST);
  return text.data();
}

/// Names this boot of this host: processes that share it share the monotonic clock.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace

StoreClient::StoreClient(const std::string& host, std::uint16_t port, const Greeting& greeting,
                         std::chrono::milliseconds timeout)
    : greeting_(greeting), timeout_(timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while ((socket_ = connect_once(host, port)) < 0) {
    if (std::chrono::steady_clock::now() > deadline)
      throw JobEnded(fmt::format(
          "rank 0 was not to be reached at {}:{} for {} s: is it running, are MASTER_ADDR and "
          "MASTER_PORT right?",
          host, port, timeout.count() / 1000));
    std::this_thread::sleep_for(kRetry);
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  own_address_ = address_of(socket_);
  const Message hello = {"hello", std::to_string(greeting.rank), std::to_string(greeting.ranks),
                         greeting.version, greeting.job};
  send_message(socket_, hello);
  // The server answers once all are there, or gives up at about the same time as we would.
  const auto answer = receive_message(socket_, timeout_ + std::chrono::seconds(2));
  const bool understood = answer && answer->size() == 2;
  if (!understood || answer->at(0) != "ok") {
    close(socket_);
    throw JobEnded(understood ? answer->at(1) : "rank 0 is gone");
  }
  if (greeting.rank == 0) set("boot", boot_id());
}

StoreClient::~StoreClient() {
  if (socket_ >= 0) close(socket_);
}

std::string StoreClient::ask(const std::string& verb, const std::string& key,
                             const std::string& value) {
  bool timed_out = false;
  if (!send_message(socket_, {verb, key, value})) throw JobEnded("rank 0 is gone");
  const auto answer = receive_message(socket_, timeout_, &timed_out);
  if (timed_out)
    throw JobEnded(fmt::format("no answer from the other ranks for {} s", timeout_.count() / 1000));
  if (!answer || answer->size() != 2) throw JobEnded("rank 0 is gone");
  if (answer->at(0) != "ok") throw JobEnded(answer->at(1));
  return answer->at(1);
}

void StoreClient::set(const std::string& key, const std::string& value) {
  ask("set", key, value);
}

std::string StoreClient::get(const std::string& key) {
  return ask("get", key, "");
}

std::int64_t StoreClient::get_number(const std::string& key) {
  return number_in(get(key));
}

void StoreClient::barrier(const std::string& name) {
  set("barrier/" + name + "/" + std::to_string(greeting_.rank), "");
  for (int rank = 0; rank < greeting_.ranks; ++rank)
    get("barrier/" + name + "/" + std::to_string(rank));
}

void StoreClient::end_job(const std::string& reason) noexcept {
  try {
    ask("end", "", reason);
  } catch (const std::exception&) {  // it ended already
  }
}

std::string StoreClient::why_ended() noexcept {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    try {
      ask("why", "", "");
    } catch (const std::exception& reason) {
      return reason.what();
    }
    std::this_thread::sleep_for(kRetry);
  }
  return "";
}

void StoreClient::leave() noexcept {
  try {
    ask("leave", "", "");
  } catch (const std::exception&) {  // nobody is left to say it to
  }
}

std::int64_t StoreClient::clock_offset_ns() {
  if (get("boot") == boot_id()) return 0;
  constexpr int kTries = 50;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t before = monotonic_ns();
    const std::int64_t theirs = number_in(ask("time", "", ""));
    const std::int64_t after = monotonic_ns();
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset = theirs - (before + (after - before) / 2);
  }
  return offset;
}

}  // namespace ddpsim
