#include "rank_threads.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "store.hpp"
#include "what_failed.hpp"

namespace ddpsim {
namespace {

/// Shared with threads that may outlive the caller.
struct SweepOfThreads {
  Sweep sweep;
  std::vector<World> ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t ended = 0;
  struct Failure {
    int rank;
    std::string reason;
    JobMessage::Cause cause;
  };
  /// The first failure; a rank's own failure is preferred.
  std::optional<Failure> failed;
  Measurement measurement;  ///< from the first rank

  void run(std::size_t index) {
    std::optional<Measurement> measured;
    std::string reason = "internal error";
    JobMessage::Cause cause = JobMessage::Cause::own;
    try {
      measured = run_sweep(sweep, ranks[index]);
    } catch (const SaidElsewhere& others) {
      cause = JobMessage::Cause::heard;
      reason = others.what();
    } catch (const JobEnded& lost) {
      cause = JobMessage::Cause::lost;
      reason = lost.what();
    } catch (const std::exception& error) {
      reason = to_string(what_failed(error));
    } catch (...) {
    }
    const std::scoped_lock lock(mutex);
    ++ended;
    if (!measured && (!failed || cause < failed->cause))
      failed = {ranks[index].rank, reason, cause};
    if (measured && index == 0) measurement = std::move(*measured);
    changed.notify_all();
  }
};

}  // namespace

Measurement run_threads(const Sweep& sweep, const std::vector<World>& ranks,
                        std::chrono::milliseconds grace) {
  const auto run = std::make_shared<SweepOfThreads>();
  run->sweep = sweep;
  run->ranks = ranks;
  std::vector<std::thread> threads;
  std::string unstarted;
  try {
    for (std::size_t i = 0; i < ranks.size(); ++i) threads.emplace_back([run, i] { run->run(i); });
  } catch (const std::system_error& error) {  // too many threads for this machine
    unstarted = error.what();
  }

  std::unique_lock lock(run->mutex);
  if (!unstarted.empty())
    run->failed = {ranks[threads.size()].rank, "its thread cannot be started: " + unstarted,
                   JobMessage::Cause::own};
  const auto all_ended = [&] { return run->ended == ranks.size(); };
  run->changed.wait(lock, [&] { return all_ended() || run->failed; });
  const bool in_time = run->changed.wait_for(lock, grace, all_ended);
  lock.unlock();
  for (std::thread& thread : threads) in_time ? thread.join() : thread.detach();
  lock.lock();
  if (run->failed)
    throw RankFailed(run->failed->rank, run->failed->reason, run->failed->cause, in_time);
  return std::move(run->measurement);
}

}  // namespace ddpsim
