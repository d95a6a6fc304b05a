#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "ddpsim/formats/number.hpp"
#include "host_clock.hpp"
#include "messages.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

constexpr auto kFarewell = std::chrono::seconds(1);

}  // namespace

Listening listen_on(std::uint16_t port, From from) {
  const bool local = from == From::this_host;
  const int socket = local ? -1 : ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int family = socket >= 0 ? AF_INET6 : AF_INET;
  const int listening = socket >= 0 ? socket : ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    setsockopt(listening, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // IPv4 as well
    auto* six = reinterpret_cast<sockaddr_in6*>(&address);
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_any;
    six->sin6_port = htons(port);
    size = sizeof(sockaddr_in6);
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&address);
    four->sin_family = AF_INET;
    four->sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
    four->sin_port = htons(port);
    size = sizeof(sockaddr_in);
  }
  if (bind(listening, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listening, SOMAXCONN) != 0) {
    const std::string reason = std::strerror(errno);
    close(listening);
    throw JobEnded(
        fmt::format("rank 0 cannot listen on port {}: {}. Set another MASTER_PORT", port, reason));
  }
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  const auto* six = reinterpret_cast<sockaddr_in6*>(&address);  // the port lies alike in both
  return {listening, ntohs(six->sin6_port)};
}

struct StoreServer::State {
  int listening = -1;
  int ranks = 1;
  std::chrono::milliseconds timeout{};
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
  std::set<int> arrived;
  std::string first_version;
  std::string first_job;
  std::string ended;  ///< the reason, once there is one
  bool closing = false;
  int open = 0;  ///< connections that are served
  std::list<int> connections;
  std::list<std::thread> threads;
  std::thread acceptor;

  void end(const std::string& reason) {  // under the mutex
    if (ended.empty()) ended = reason;
    changed.notify_all();
  }

  void accept_all() {
    for (;;) {
      const int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
      {
        const std::scoped_lock lock(mutex);
        if (closing) {
          if (connection >= 0) close(connection);
          return;
        }
        if (connection >= 0) take(connection);
      }
      // A signal, a caller who left, no descriptor for now: none of them ends the job.
      if (connection < 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  void take(int connection) {  // under the mutex
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections.push_back(connection);
    ++open;
    threads.emplace_back([this, connection] { serve(connection); });
  }

  /// A reason to refuse this rank, or nothing. Under the mutex.
  std::string problem_with(int rank, int says_ranks, const std::string& version,
                           const std::string& job) const {
    if (says_ranks != ranks)
      return fmt::format(
          "rank {} was told of {} ranks, rank 0 of {}: every rank needs the same WORLD_SIZE", rank,
          says_ranks, ranks);
    if (rank < 0 || rank >= ranks)
      return fmt::format("a process calls itself rank {}; ranks are 0 to {}", rank, ranks - 1);
    if (arrived.contains(rank)) return fmt::format("two processes call themselves rank {}", rank);
    if (!arrived.empty() && version != first_version)
      return fmt::format("rank {} runs version {}, others {}: start the same program everywhere",
                         rank, version, first_version);
    if (!arrived.empty() && job != first_job)
      return fmt::format("rank {} was given another workload or other options than the others",
                         rank);
    return "";
  }

  std::string who_is_missing() const {
    std::string missing;
    for (int rank = 0; rank < ranks; ++rank)
      if (!arrived.contains(rank)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    return missing;
  }

  /// Answers one message; false ends the connection. `rank` is set by the greeting.
  bool answer(int connection, const Message& message, int& rank, bool& left) {
    std::unique_lock lock(mutex);
    const std::string& verb = message[0];
    if (verb == "hello" && message.size() == 5) {
      const int says = parse_number<int>(message[1]).value_or(-1);
      const std::string problem =
          problem_with(says, parse_number<int>(message[2]).value_or(-1), message[3], message[4]);
      if (!problem.empty()) {
        end(problem);
      } else {
        rank = says;
        if (arrived.empty()) first_version = message[3], first_job = message[4];
        arrived.insert(rank);
        changed.notify_all();
        const bool all = changed.wait_for(lock, timeout, [this] {
          return !ended.empty() || arrived.size() == static_cast<std::size_t>(ranks);
        });
        if (!all)
          end(fmt::format("after {} s {} of {} ranks were there; missing: {}",
                          timeout.count() / 1000, arrived.size(), ranks, who_is_missing()));
      }
    } else if (verb == "set" && message.size() == 3) {
      values[message[1]] = message[2];
      changed.notify_all();
    } else if (verb == "get" && message.size() == 3) {
      changed.wait(lock, [&] { return closing || !ended.empty() || values.contains(message[1]); });
      if (ended.empty() && !closing) {
        const std::string value = values[message[1]];
        lock.unlock();
        return send_message(connection, {"ok", value});
      }
    } else if (verb == "time") {
      lock.unlock();
      return send_message(connection, {"ok", std::to_string(monotonic_ns())});
    } else if (verb == "end" && message.size() == 3) {
      end(message[2]);
    } else if (verb == "leave") {
      left = true;
    } else if (verb != "why") {
      return false;
    }
    const std::string reason = ended;
    lock.unlock();
    return send_message(connection, {reason.empty() ? "ok" : "ended", reason}) && !left;
  }

  void serve(int connection) {
    int rank = -1;
    bool left = false;
    for (;;) {
      const std::optional<Message> message =
          receive_message(connection, std::chrono::milliseconds(-1));
      if (!message || message->empty() || !answer(connection, *message, rank, left)) break;
    }
    const std::scoped_lock lock(mutex);
    if (rank >= 0 && !left && !closing) end(fmt::format("rank {} is gone", rank));
    --open;
    changed.notify_all();
  }
};

StoreServer::StoreServer(int listening, int ranks, std::chrono::milliseconds timeout)
    : state_(std::make_unique<State>()) {
  state_->listening = listening;
  state_->ranks = ranks;
  state_->timeout = timeout;
  state_->acceptor = std::thread([state = state_.get()] { state->accept_all(); });
}

StoreServer::~StoreServer() {
  {
    // Others may still want to hear that all is done, or why the job ended.
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, kFarewell, [this] { return state_->open == 0; });
    state_->closing = true;
    state_->changed.notify_all();
  }
  shutdown(state_->listening, SHUT_RDWR);
  state_->acceptor.join();
  close(state_->listening);
  for (const int connection : state_->connections) shutdown(connection, SHUT_RDWR);
  for (std::thread& thread : state_->threads) thread.join();
  for (const int connection : state_->connections) close(connection);
}

}  // namespace ddpsim
