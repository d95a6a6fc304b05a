#include "nccl_watchdog.hpp"

#include <fmt/format.h>

#include <exception>

#include "communicator.hpp"

namespace ddpsim {
namespace {

constexpr auto kNap = std::chrono::milliseconds(100);
// Checks between two questions to rank 0, each of which is a small message.
constexpr int kNapsAQuestion = 5;
constexpr auto kPoll = std::chrono::microseconds(200);
constexpr auto kPromptly = std::chrono::milliseconds(1);

}  // namespace

NcclWatchdog::NcclWatchdog(StoreClient& store, const ncclUniqueId& id, int rank, int ranks,
                           std::chrono::milliseconds timeout)
    : store_(store), timeout_(timeout) {
  try {
    join(id, rank, ranks);
  } catch (...) {
    take_down();
    throw;
  }
}

NcclWatchdog::~NcclWatchdog() {
  if (std::uncaught_exceptions() > 0) abandon();
  take_down();
}

void NcclWatchdog::join(const ncclUniqueId& id, int rank, int ranks) {
  constexpr const char* kWhat = "joining the communicator";
  expect();
  ncclResult_t status = ncclSuccess;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  status = ncclCommInitRankConfig(&communicator_, ranks, id, rank, &config);
#else  // waits for a rank that never joins
  status = ncclCommInitRank(&communicator_, ranks, id, rank);
#endif
  if (status != ncclSuccess && status != ncclInProgress)
    throw PeerLost(fmt::format("{}: {}", kWhat, ncclGetErrorString(status)));
  thread_ = std::thread([this] { watch(); });
  settle(status, kWhat);
  joined_ = true;
  all_done();
}

/// Sets the deadline, unless one is running. Work launched before the GPU makes progress has no
/// time-out of its own.
void NcclWatchdog::expect() {
  std::int64_t none = kNoDeadline;
  deadline_ns_.compare_exchange_strong(
      none, (Clock::now() + timeout_).time_since_epoch().count() + computing_ns_);
}

void NcclWatchdog::came_on() {
  deadline_ns_ = (Clock::now() + timeout_).time_since_epoch().count() + computing_ns_.exchange(0);
}

void NcclWatchdog::computes(std::chrono::nanoseconds time) {
  computing_ns_ += time.count();
  if (deadline_ns_ != kNoDeadline) deadline_ns_ += time.count();
}

void NcclWatchdog::all_done() {
  deadline_ns_ = kNoDeadline;
  computing_ns_ = 0;
}

void NcclWatchdog::call(const std::function<ncclResult_t(ncclComm_t)>& call, const char* what) {
  expect();
  ncclResult_t status = ncclSuccess;
  {
    const std::scoped_lock lock(calls_);
    require_well_locked();
    status = call(communicator_);
  }
  settle(status, what);
}

/// Waits until the communicator has finished the call, because a non-blocking one may report "in
/// progress". A launch takes some 50 us. So at first it is polled without a pause: a sleeping host
/// would launch late (290 us each, measured on an H200).
void NcclWatchdog::settle(ncclResult_t status, const char* what) {
  const Clock::time_point naps_from = Clock::now() + kPromptly;
  while (status == ncclInProgress) {
    {
      const std::scoped_lock lock(calls_);
      require_well_locked();
      const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &status);
      if (asked != ncclSuccess) status = asked;
    }
    if (status != ncclInProgress) break;
    if (Clock::now() < naps_from)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPoll);
  }
  if (status != ncclSuccess)
    throw PeerLost(fmt::format("{}: {}", what, ncclGetErrorString(status)));
}

void NcclWatchdog::require_well() {
  if (!ended_) return;
  const std::scoped_lock lock(calls_);
  require_well_locked();
}

void NcclWatchdog::require_well_locked() {
  if (ended_) throw PeerLost(cause_);
}

void NcclWatchdog::watch() {
  std::unique_lock lock(waking_);
  for (int naps = 1; !stopping_; ++naps) {
    if (woken_.wait_for(lock, kNap, [this] { return stopping_; })) return;
    lock.unlock();
    if (const std::string cause = problem(naps % kNapsAQuestion == 0); !cause.empty())
      return end(cause);
    lock.lock();
  }
}

/// Why the job cannot continue; empty if it can.
std::string NcclWatchdog::problem(bool ask_store) {
  ncclResult_t failed = ncclSuccess;
  // The query completes unfinished work of a launch, like the launching thread does. Two such calls
  // at the same time break NCCL. If another thread holds the communicator, it makes this query
  // itself or is in a launch, so the next check is early enough.
  if (const std::unique_lock lock(calls_, std::try_to_lock); lock.owns_lock())
    ncclCommGetAsyncError(communicator_, &failed);
  if (failed != ncclSuccess && failed != ncclInProgress)
    return fmt::format("a peer was lost: {}", ncclGetErrorString(failed));
  if (Clock::now().time_since_epoch().count() > deadline_ns_)
    return fmt::format("{} took longer than {} s",
                       joined_ ? "a collective" : "joining the communicator",
                       timeout_.count() / 1000);
  return ask_store ? store_.why_ended_if_free() : "";
}

void NcclWatchdog::end(const std::string& cause) noexcept {
  // The holder of the communicator may be in a launch into a full queue, which only the abort ends.
  constexpr int kTries = 50;
  constexpr auto kTry = std::chrono::milliseconds(10);
  std::unique_lock lock(calls_, std::try_to_lock);
  for (int i = 0; i < kTries && !lock.owns_lock(); ++i) {
    std::this_thread::sleep_for(kTry);
    (void)lock.try_lock();
  }
  cause_ = cause;
  ended_ = true;
  ncclCommAbort(communicator_);  // ends kernels that wait for the peer
}

void NcclWatchdog::abandon() noexcept {
  {
    const std::scoped_lock lock(waking_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (communicator_ != nullptr && !ended_) end("this rank failed");
}

void NcclWatchdog::take_down() noexcept {
  const bool well = joined_ && !ended_;
  if (!well) return abandon();
  try {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
    call(&ncclCommFinalize, "leaving the communicator");
#endif
  } catch (const PeerLost&) {  // everything is measured already
    return abandon();
  }
  {
    const std::scoped_lock lock(waking_);
    stopping_ = true;
  }
  woken_.notify_all();
  thread_.join();
  if (!ended_) ncclCommDestroy(communicator_);
}

}  // namespace ddpsim
