#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "host_clock.hpp"
#include "job_state.hpp"
#include "printing.hpp"
#include "signal_text.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

using std::chrono::milliseconds;
using Moment = std::chrono::steady_clock::time_point;

constexpr milliseconds kFarewell{1000};
constexpr milliseconds kOnTheirWay{5000};
constexpr auto kGreetingTime = std::chrono::seconds(2);
constexpr std::ptrdiff_t kMostStrangers = 64;
constexpr int kAcceptedAtOnce = 16;  // then the accepted connections are read
constexpr int kPiecesAtOnce = 16;    // per connection, then the next one
constexpr auto kWithoutDescriptors = milliseconds(20);
constexpr auto kLook = milliseconds(2);

}  // namespace

/// One thread serves all connections. So no locks are needed, and an idle connection costs only a
/// descriptor.
class StoreServer::Loop {
 public:
  Loop(const Listening& listening, int ranks, milliseconds timeout, std::string token)
      : listening_(listening), timeout_(timeout), job_(ranks, std::move(token)) {
    if (pipe2(wake_.data(), O_CLOEXEC | O_NONBLOCK) != 0)
      throw JobEnded(std::string("rank 0 cannot make a pipe: ") + std::strerror(errno));
  }
  ~Loop() {
    for (const Connection& one : connections_) close(one.socket);
    close_all(listening_);
    for (const int end : wake_)
      if (end >= 0) close(end);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run() {
    std::optional<Moment> farewell;
    for (;;) {
      const Moment now = std::chrono::steady_clock::now();
      expire(now);
      say_once();
      answer_waiting();
      connections_.remove_if([](const Connection& one) {
        if (one.gone) close(one.socket);
        return one.gone;
      });
      if (closing_ && !farewell) farewell = now + (apart_ && job_.ended() ? timeout_ : kFarewell);
      // Other ranks may still ask whether all is done, or why the job ended. Strangers are not
      // waited for.
      if (farewell && (now >= *farewell ||
                       (everyone_knows(now) && std::ranges::all_of(connections_, is_stranger))))
        return;
      wait(farewell);
    }
  }

  /// For a forked child. Only its parent holds the other end of the pipe, so run() ends soon after
  /// the parent ends.
  void live_with_parent() {
    close(std::exchange(wake_[1], -1));
    apart_ = true;
  }
  void belong_to_parent() {
    close(std::exchange(wake_[0], -1));
    close_all(std::exchange(listening_, {}));
  }

  /// Called from another thread. run() ends once the ranks have received their answers, but at the
  /// latest a moment later.
  void end() {
    closing_ = true;
    const char byte = 0;
    (void)!write(wake_[1], &byte, 1);
  }

 private:
  enum class Awaits { nothing, everyone, value, barrier };

  struct Connection {
    int socket = -1;
    int rank = -1;  ///< -1: a stranger
    Moment came;
    MessageDecoder decoder{Speaker::stranger};
    Awaits awaits = Awaits::nothing;
    std::string wanted;  ///< the key or the barrier it waits for
    std::string answer;  ///< sent up to `sent`
    std::size_t sent = 0;
    bool last_answer = false;  ///< the connection is closed afterwards
    bool gone = false;

    bool answering() const { return sent < answer.size(); }
  };

  /// Ranks that have not connected yet may be on their way.
  bool everyone_knows(Moment now) const {
    return !apart_ || !job_.ended() || job_.everyone_is_here() || now >= rank_0_gone_ + kOnTheirWay;
  }

  static bool is_stranger(const Connection& one) { return one.rank < 0; }

  void expire(Moment now) {
    for (Connection& one : connections_)
      if (is_stranger(one) && now >= one.came + kGreetingTime) one.gone = true;
    if (meet_by_ && now >= *meet_by_ && !job_.everyone_is_here())
      job_.end(fmt::format("after {} s {}{}{}", timeout_.count() / 1000, job_.who_came(),
                           listening_.caution.empty() ? "" : "; ", listening_.caution));
  }

  /// Waits until a connection is ready or something is due, then serves it.
  void wait(std::optional<Moment> due) {
    const auto earlier = [&due](Moment moment) { due = due ? std::min(*due, moment) : moment; };
    if (meet_by_ && !job_.everyone_is_here() && !job_.ended()) earlier(*meet_by_);
    if (closing_ && !everyone_knows({})) earlier(rank_0_gone_ + kOnTheirWay);
    const bool rests = rest_until_ > std::chrono::steady_clock::now();
    if (rests) earlier(rest_until_);
    polled_ = {{wake_[0], POLLIN, 0}};
    for (const Connection& one : connections_) {
      polled_.push_back({one.socket, static_cast<short>(one.answering() ? POLLOUT : POLLIN), 0});
      if (is_stranger(one)) earlier(one.came + kGreetingTime);
    }
    const std::size_t listeners = polled_.size();
    if (!rests)
      for (const int socket : listening_.sockets) polled_.push_back({socket, POLLIN, 0});
    if (poll(polled_.data(), polled_.size(), milliseconds_until(due)) <= 0) return;

    std::array<char, 1> byte{};
    if (polled_[0].revents != 0) {
      const ssize_t count = read(wake_[0], byte.data(), byte.size());
      rank_0_speaks_ = rank_0_speaks_ || count > 0;
      if (count == 0) lose_parent();
    }
    std::size_t place = 1;
    for (Connection& one : connections_) {
      if (polled_[place++].revents == 0 || one.gone) continue;
      one.answering() ? send_more(one) : read_more(one);
    }
    for (place = listeners; place < polled_.size(); ++place)
      if (polled_[place].revents != 0) accept_some(polled_[place].fd);
  }

  static int milliseconds_until(std::optional<Moment> due) {
    if (!due) return -1;
    const auto left =
        std::chrono::ceil<milliseconds>(*due - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  void accept_some(int listening) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      const int socket = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0 && try_again()) return;
      if (socket < 0 && errno == ECONNABORTED) continue;
      if (socket < 0) {  // no free descriptor; the job continues
        drop_oldest_stranger();
        rest_until_ = std::chrono::steady_clock::now() + kWithoutDescriptors;
        return;
      }
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (std::ranges::count_if(connections_, [](const Connection& one) {
            return is_stranger(one) && !one.gone;
          }) >= kMostStrangers)
        drop_oldest_stranger();
      Connection& one = connections_.emplace_back();
      one.socket = socket;
      one.came = std::chrono::steady_clock::now();
    }
  }

  /// A rank greets as soon as it is connected. So the connection that has been silent the longest
  /// is the least likely to be a rank.
  void drop_oldest_stranger() {
    const auto oldest = std::ranges::find_if(
        connections_, [](const Connection& one) { return is_stranger(one) && !one.gone; });
    if (oldest != connections_.end()) oldest->gone = true;
  }

  void read_more(Connection& one) {
    for (int i = 0; i < kPiecesAtOnce && !one.gone; ++i) {
      const ssize_t count = recv(one.socket, piece_.data(),
                                 std::min(piece_.size(), one.decoder.wants()), MSG_DONTWAIT);
      if (count < 0 && try_again()) return;
      if (count <= 0) return lose(one, "is gone");
      one.decoder.take({piece_.data(), static_cast<std::size_t>(count)});
      if (one.decoder.state() == MessageDecoder::State::refused)
        return lose(one, "sent what no rank sends");
      if (one.decoder.state() == MessageDecoder::State::complete) {
        Message message = one.decoder.take_message();
        return is_stranger(one) ? greet(one, message) : hear(one, std::move(message));
      }
    }
  }

  /// Rank 0 has ended, whether it has greeted or not.
  void lose_parent() {
    close(std::exchange(wake_[0], -1));
    if (!rank_0_left_ && rank_0_speaks_) job_.end_as_told("rank 0 is gone");
    if (!rank_0_left_) job_.end("rank 0 is gone");
    rank_0_gone_ = std::chrono::steady_clock::now();
    if (job_.everyone_is_here())
      close_all(std::exchange(listening_, {}));  // frees the port for the next job
    closing_ = true;
  }

  /// Prints the reason once, unless a rank was told it and printed it. Other ranks hear it only
  /// afterwards, because a launcher may end this process when one of them ends.
  void say_once() {
    if (!apart_ || !job_.ended() || std::exchange(said_, true) || job_.was_told()) return;
    print_error("ddpsim-real: " + job_.reason());
  }

  void lose(Connection& one, const char* why) {
    one.gone = true;
    if (!is_stranger(one) && !one.last_answer && !closing_)
      job_.end(fmt::format("rank {} {}", one.rank, why));
  }

  void greet(Connection& one, const Message& hello) {
    const bool first = job_.nobody_is_here();
    const JobState::Admission admission = job_.admit(hello);
    if (admission.rank < 0) {
      one.last_answer = true;
      say_once();
      if (admission.refused.empty()) {
        one.gone = true;
      } else {
        answer(one, {admission.ended ? "ended" : "refused", admission.refused});
      }
      return;
    }
    one.rank = admission.rank;
    one.decoder = MessageDecoder(Speaker::rank);
    one.awaits = Awaits::everyone;
    if (first) meet_by_ = std::chrono::steady_clock::now() + timeout_;
    answer(one, {"welcome"});
  }

  /// Handles a message. A new question replaces an unanswered one.
  void hear(Connection& one, Message message) {
    const std::string& verb = message[0];
    one.awaits = Awaits::nothing;
    if (verb == "time") return answer(one, {"ok", std::to_string(monotonic_ns())});
    if (verb == "get" || verb == "barrier") {
      one.awaits = verb == "get" ? Awaits::value : Awaits::barrier;
      one.wanted = std::move(message[1]);
      if (one.awaits == Awaits::barrier) job_.enter(one.wanted, one.rank);
      return;
    }
    if (verb == "set") job_.set(one.rank, message[1], std::move(message[2]));
    if (verb == "end") job_.end_as_told(message[1]);
    say_once();
    one.last_answer = verb == "leave";
    rank_0_left_ = rank_0_left_ || (one.last_answer && one.rank == 0);
    answer(one, {job_.ended() ? "ended" : "ok", job_.reason()});
  }

  void answer_waiting() {
    for (Connection& one : connections_) {
      if (one.awaits == Awaits::nothing || one.gone) continue;
      const std::string* value = nullptr;
      bool there = false;
      if (one.awaits == Awaits::everyone) there = job_.everyone_is_here();
      if (one.awaits == Awaits::barrier) there = job_.all_entered(one.wanted);
      if (one.awaits == Awaits::value) there = (value = job_.find(one.wanted)) != nullptr;
      if (!there && !job_.ended()) continue;
      one.awaits = Awaits::nothing;
      answer(one, job_.ended() ? Message{"ended", job_.reason()}
                               : Message{"ok", value == nullptr ? "" : *value});
    }
  }

  void answer(Connection& one, const Message& message) {
    one.answer += encoded(message);
    send_more(one);
  }

  void send_more(Connection& one) {
    while (one.answering()) {
      const ssize_t count = send(one.socket, one.answer.data() + one.sent,
                                 one.answer.size() - one.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && try_again()) return;
      if (count <= 0) return lose(one, "is gone");
      one.sent += static_cast<std::size_t>(count);
    }
    one.answer = {};
    one.sent = 0;
    one.gone = one.gone || one.last_answer;
  }

  Listening listening_;
  milliseconds timeout_;
  JobState job_;
  std::array<int, 2> wake_{};
  bool apart_ = false;  ///< in a separate process
  bool rank_0_left_ = false;
  bool rank_0_speaks_ = false;  ///< it ends in order, and reports errors itself
  Moment rank_0_gone_;
  bool said_ = false;
  std::atomic<bool> closing_ = false;
  std::list<Connection> connections_;  ///< in the order of their arrival
  std::optional<Moment> meet_by_;
  Moment rest_until_;
  std::vector<pollfd> polled_;
  std::array<char, 1 << 16> piece_{};
};

StoreServer::StoreServer(const Listening& listening, int ranks, milliseconds timeout,
                         std::string token)
    : loop_(std::make_unique<Loop>(listening, ranks, timeout, std::move(token))),
      thread_([loop = loop_.get()] { loop->run(); }) {}

namespace {

/// The separate process of the store. Every rank of this process asks about it.
struct Apart {
  std::mutex mutex;
  pid_t pid = 0;
  std::optional<int> status;  ///< set once it has ended

  bool has_ended() {
    const std::scoped_lock lock(mutex);
    int ended = 0;
    if (pid != 0 && !status && waitpid(pid, &ended, WNOHANG) != 0) status = ended;
    return pid == 0 || status;
  }
};
Apart apart;

}  // namespace

void StoreServer::serve_apart(const Listening& listening, int ranks, milliseconds timeout,
                              const std::string& token) {
  std::unique_ptr<Loop>& loop = own_loop();
  loop = std::make_unique<Loop>(listening, ranks, timeout, token);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw JobEnded(std::string("cannot start a process: ") + std::strerror(errno));
  apart.pid = child;
  if (child > 0) return loop->belong_to_parent();
  // A reader of rank 0's output should not wait for this process.
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
    dup2(nowhere, STDOUT_FILENO);
  loop->live_with_parent();
  loop->run();
  std::_Exit(0);
}

std::unique_ptr<StoreServer::Loop>& StoreServer::own_loop() {
  // Static, so that its end of the pipe closes when this process ends.
  static std::unique_ptr<Loop> loop;
  return loop;
}

void StoreServer::await_apart() {
  if (apart.has_ended()) return;
  own_loop()->end();
  own_loop().reset();
  const Moment latest = std::chrono::steady_clock::now() + kFarewell / 2;
  while (!apart.has_ended() && std::chrono::steady_clock::now() < latest)
    std::this_thread::sleep_for(kLook);
}

/// How the process apart ended. Its connections close a moment before the process ends, so this
/// looks several times.
std::string StoreServer::end_of_apart() {
  constexpr int kLooks = 50;
  for (int i = 0; i < kLooks && !apart.has_ended(); ++i) std::this_thread::sleep_for(kLook);
  const std::scoped_lock lock(apart.mutex);
  if (!apart.status || !WIFSIGNALED(*apart.status)) return "";
  return "was ended by " + signal_text(WTERMSIG(*apart.status));
}

StoreServer::~StoreServer() {
  loop_->end();
  thread_.join();
}

}  // namespace ddpsim
