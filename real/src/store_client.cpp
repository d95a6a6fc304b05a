#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "job_state.hpp"
#include "messages.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

using Moment = std::chrono::steady_clock::time_point;

constexpr auto kRetry = std::chrono::milliseconds(50);
constexpr auto kLittle = std::chrono::milliseconds(500);

std::int64_t number_in(const std::string& answer) {
  const auto number = parse_number<std::int64_t>(answer);
  if (!number) throw JobEnded(fmt::format("rank 0 answered {}, not a number", in_quotes(answer)));
  return *number;
}

/// Connects within the time. Returns -1 on failure.
int connect_to(const addrinfo& address, Moment deadline) {
  const int tried = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                             address.ai_protocol);
  if (tried < 0) return -1;
  int failed = connect(tried, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (failed == EINPROGRESS) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wanted{tried, POLLOUT, 0};
    poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    socklen_t size = sizeof failed;
    if (wanted.revents == 0)
      failed = ETIMEDOUT;
    else
      getsockopt(tried, SOL_SOCKET, SO_ERROR, &failed, &size);
  }
  if (failed == 0) return tried;
  close(tried);
  return -1;
}

int connect_once(const std::string& host, std::uint16_t port, Moment deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int connected = -1;
  for (const addrinfo* one = found; one != nullptr && connected < 0; one = one->ai_next)
    connected = connect_to(*one, deadline);
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

}  // namespace

StoreClient::StoreClient(const std::string& host, std::uint16_t port, const Greeting& greeting,
                         std::chrono::milliseconds timeout, bool apart)
    : greeting_(greeting), timeout_(timeout), patience_(timeout), apart_(apart) {
  try {
    greet(host, port);
    own_address_ = address_of(socket_);
    // The server answers once all ranks are there, or gives up at about the same time as this
    // client.
    const auto answer =
        receive_message(socket_, Speaker::rank_0,
                        std::chrono::steady_clock::now() + timeout_ + std::chrono::seconds(2));
    if (!answer) throw JobEnded(who_is_gone());
    if (answer->at(0) != "ok") throw SaidElsewhere(printable_reason(answer->back()));
  } catch (...) {
    if (socket_ >= 0) close(socket_);
    throw;
  }
}

/// Greets until rank 0 has read the greeting. Rank 0 may drop the connection before that, if
/// strangers crowd its port.
void StoreClient::greet(const std::string& host, std::uint16_t port) {
  const Message hello = {"hello",
                         std::string(kStoreMagic),
                         greeting_.token,
                         std::to_string(greeting_.rank),
                         std::to_string(greeting_.ranks),
                         greeting_.version,
                         greeting_.job};
  const Moment deadline = std::chrono::steady_clock::now() + timeout_;
  bool reached = false;
  for (;;) {
    socket_ = connect_once(host, port, deadline);
    if (socket_ >= 0) {
      reached = true;
      const int on = 1;
      setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      std::optional<Message> answer;
      if (send_message(socket_, hello, deadline))
        answer = receive_message(socket_, Speaker::rank_0, deadline);
      if (answer && answer->at(0) == "welcome") return;
      if (answer && answer->at(0) == "ended") throw SaidElsewhere(printable_reason(answer->back()));
      if (answer) throw JobEnded(printable_reason(answer->back()));
      close(socket_);
      socket_ = -1;
    }
    if (std::chrono::steady_clock::now() > deadline) break;
    std::this_thread::sleep_for(kRetry);
  }
  if (reached)
    throw JobEnded(
        fmt::format("the program at {}:{} accepted no greeting for {} s: is it rank 0 of this job, "
                    "with the same version of ddpsim-real?",
                    legible(host), port, timeout_.count() / 1000));
  throw JobEnded(
      fmt::format("rank 0 could not be reached at {}:{} for {} s: is it running, and are "
                  "MASTER_ADDR and MASTER_PORT right?",
                  legible(host), port, timeout_.count() / 1000));
}

StoreClient::~StoreClient() {
  if (socket_ >= 0) close(socket_);
}

std::string StoreClient::who_is_gone() const {
  if (!apart_) return "rank 0 is gone";
  const std::string end = StoreServer::end_of_apart();
  return "the store, a separate process on rank 0's host, " +
         (end.empty() ? "is gone: it was killed, or rank 0's host is gone" : end);
}

std::string StoreClient::ask(const Message& question) {
  const std::scoped_lock lock(asking_);
  return ask_alone(question);
}

/// Asks while the caller holds `asking_`. After a time-out, the next question gets only a short
/// time-out, and later ones none.
std::string StoreClient::ask_alone(const Message& question) {
  bool timed_out = false;
  const Moment deadline = std::chrono::steady_clock::now() + patience_;
  if (!send_message(socket_, question, deadline)) throw JobEnded(who_is_gone());
  const auto answer = receive_message(socket_, Speaker::rank_0, deadline, &timed_out);
  if (timed_out) {
    patience_ = patience_ > kLittle ? kLittle : std::chrono::milliseconds(0);
    throw JobEnded(fmt::format("no answer from the other ranks for {} s", timeout_.count() / 1000));
  }
  if (!answer) throw JobEnded(who_is_gone());
  if (answer->at(0) != "ok") throw SaidElsewhere(printable_reason(answer->back()));
  return answer->at(1);
}

void StoreClient::set(const std::string& key, const std::string& value) {
  if (value.size() > kMostValueBytes)
    throw JobEnded(
        fmt::format("{} MB are more than rank 0 takes of a rank at once: lower "
                    "--iterations",
                    value.size() >> 20U));
  ask({"set", key, value});
}

std::string StoreClient::get(const std::string& key) {
  return ask({"get", key});
}

std::int64_t StoreClient::get_number(const std::string& key) {
  return number_in(get(key));
}

std::int64_t StoreClient::time_of_rank_0() {
  return number_in(ask({"time"}));
}

void StoreClient::barrier(const std::string& name) {
  ask({"barrier", name});
}

std::string StoreClient::end_job(const std::string& reason) noexcept {
  try {
    ask({"end", printable_reason(reason)});
  } catch (const SaidElsewhere& ended) {
    return ended.what();
  } catch (const std::exception&) {  // no peer is left to tell
  }
  return "";
}

std::string StoreClient::why_ended() noexcept {
  constexpr int kTries = 10;
  {
    const std::scoped_lock lock(asking_);
    patience_ = std::min<std::chrono::milliseconds>(patience_, kLittle);
  }
  for (int i = 0; i < kTries; ++i) {
    try {
      ask({"why"});
    } catch (const SaidElsewhere& reason) {
      return reason.what();
    } catch (const std::exception&) {
      return "";
    }
    std::this_thread::sleep_for(kRetry);
  }
  return "";
}

std::string StoreClient::why_ended_if_free() noexcept {
  const std::unique_lock lock(asking_, std::try_to_lock);
  if (!lock.owns_lock()) return "";
  try {
    ask_alone({"why"});
    return "";
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

void StoreClient::leave() noexcept {
  try {
    ask({"leave"});
  } catch (const std::exception&) {  // no peer is left to tell
  }
}

}  // namespace ddpsim
