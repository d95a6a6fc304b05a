// The side of a rank that answers points for rank 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "sweep_ranks.hpp"
#include "what_failed.hpp"

namespace ddpsim {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kRound = std::chrono::milliseconds(2);
constexpr Seconds kAhead(0.05);
constexpr std::size_t kMostAhead = 10'000;
constexpr auto kSign = std::chrono::seconds(5);

/// The points that the threads of this rank work on.
class Desk {
 public:
  Desk(int threads, const SweepAnswers& answers) : answers_(answers) {
    for (int t = 0; t < threads; ++t) workers_.emplace_back([this] { work(); });
  }
  ~Desk() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    came_.notify_all();
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void add(PointRange range) {
    const std::lock_guard lock(mutex_);
    for (std::size_t k = 0; k < range.count; ++k) queue_.push_back(range.first + k);
    came_.notify_all();
  }

  struct Done {
    std::string lines;
    std::size_t wanted = 0;  ///< points to ask for
    std::exception_ptr thrown;
  };
  Done take_done() {
    const std::lock_guard lock(mutex_);
    const std::size_t threads = workers_.size();
    // The time of a point is unknown until one is answered.
    const double in_time =
        answered_ > 0 ? std::ceil(static_cast<double>(threads * answered_) * (kAhead / worked_))
                      : 1;
    const std::size_t enough =
        threads + static_cast<std::size_t>(std::min(in_time, static_cast<double>(kMostAhead)));
    const std::size_t here = queue_.size() + working_;
    return {std::exchange(lines_, ""), enough - std::min(enough, here),
            std::exchange(thrown_, nullptr)};
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      came_.wait(lock, [&] { return closed_ || !queue_.empty(); });
      if (closed_) return;
      const std::size_t k = queue_.front();
      queue_.pop_front();
      ++working_;
      lock.unlock();
      const Clock::time_point begin = Clock::now();
      std::string line;
      std::exception_ptr thrown;
      try {
        line = answers_.line(k);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      --working_;
      ++answered_;
      worked_ += Clock::now() - begin;
      if (thrown) thrown_ = thrown;
      if (!thrown) lines_ += fmt::format("{} {}", k, line);
    }
  }

  const SweepAnswers& answers_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::size_t> queue_;
  std::string lines_;
  std::size_t working_ = 0;
  std::size_t answered_ = 0;
  Seconds worked_{0};
  bool closed_ = false;
  std::exception_ptr thrown_;
  std::vector<std::jthread> workers_;
};

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return to_string(what_failed(error));
  }
}

/// Parses "points 12 4".
PointRange points_told(std::string_view text) {
  text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const std::size_t first = take_number<std::size_t>(text).value_or(0);
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  return {.first = first, .count = take_number<std::size_t>(text).value_or(0)};
}

/// Messages to rank 0, which also tell it that this rank is alive.
class Voice {
 public:
  explicit Voice(Ranks& ranks) : ranks_(ranks) {}
  void say(std::string_view text) {
    ranks_.send(0, text);
    said_ = Clock::now();
  }
  bool silent() const { return Clock::now() - said_ > kSign; }

 private:
  Ranks& ranks_;
  Clock::time_point said_ = Clock::now();
};

/// Waits for the preparation. Returns false if rank 0 ended this rank before that.
bool is_prepared(Ranks& ranks, Voice& voice, std::future<SweepAnswers>& answers) {
  while (answers.wait_for(kRound) != std::future_status::ready) {
    if (voice.silent()) voice.say("lines 0\n");
    // Before this rank is ready, rank 0 only sends "end".
    if (ranks.receive()) return false;
  }
  return true;
}

void answer_until_the_end(Ranks& ranks, Voice& voice, int threads, const SweepAnswers& answers) {
  Desk desk(threads, answers);
  bool asked = false;
  for (;; std::this_thread::sleep_for(kRound)) {
    while (const auto message = ranks.receive()) {
      if (message->text == "end") return;
      desk.add(points_told(message->text));
      asked = false;
    }
    const Desk::Done done = desk.take_done();
    const std::size_t wanted = asked ? 0 : done.wanted;
    if (done.thrown) voice.say("failed " + text_of(done.thrown));
    if (done.lines.empty() && wanted == 0 && !voice.silent()) continue;
    voice.say(fmt::format("lines {}\n{}", wanted, done.lines));
    asked = asked || wanted > 0;
  }
}

void wait_for_the_end(Ranks& ranks, Voice& voice) {
  for (;; std::this_thread::sleep_for(kRound)) {
    if (ranks.receive()) return;
    if (voice.silent()) voice.say("lines 0\n");
  }
}

}  // namespace

void answer_for_rank_0(Ranks& ranks, int threads, const std::function<SweepAnswers()>& prepare) {
  // Rank 0 handles the interrupt and ends this rank.
  std::signal(SIGINT, SIG_IGN);
  Voice voice(ranks);
  std::future<SweepAnswers> answers = std::async(std::launch::async, prepare);
  try {
    if (is_prepared(ranks, voice, answers)) {
      const SweepAnswers own = answers.get();
      voice.say(fmt::format("ready {} {}", ranks.host(), own.header));
      answer_until_the_end(ranks, voice, threads, own);
    }
  } catch (const std::exception& error) {
    voice.say(fmt::format("problem {} {}", ranks.host(), to_string(what_failed(error))));
    wait_for_the_end(ranks, voice);
  }
  if (answers.valid()) answers.wait();
  voice.say("bye");
}

}  // namespace ddpsim
