// The meeting point of a job: keys and values on rank 0, over plain TCP. Ranks use it to find each
// other, to agree that they run the same job, to send measurements to rank 0, and to learn that a
// rank is gone.
//
// - Server (rank 0): waits for every rank's greeting. A rank ends the job if its greeting does not
//   match, if it comes too late, or if it leaves without a message. Every later request gets this
//   one reason.
// - Client (all ranks): every call ends within the time-out.
//
// A connection is a stranger until it has greeted with the job's token. Strangers get a few
// seconds, a few hundred bytes and a few places. Nothing they do ends the job.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "listening.hpp"
#include "messages.hpp"

namespace ddpsim {

/// The job cannot continue. The text says why.
class JobEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The job cannot continue, and rank 0 said why. If a launcher started the ranks, the process where
/// it failed reports the reason.
class SaidElsewhere : public JobEnded {
 public:
  using JobEnded::JobEnded;
};

class StoreServer {
 public:
  /// Takes ownership of the sockets. Ranks must greet with this token within `timeout`.
  StoreServer(const Listening& listening, int ranks, std::chrono::milliseconds timeout,
              std::string token = "");
  ~StoreServer();

  /// Runs the server in a separate process, for rank 0 of a job that a launcher started, and
  /// returns in the calling process. The server ends after the calling process has ended. It
  /// prints, once, errors that no rank can report about itself: a rank is gone, did not connect, or
  /// does not match. Call this before the process has threads.
  static void serve_apart(const Listening& listening, int ranks, std::chrono::milliseconds timeout,
                          const std::string& token);
  /// Waits until the separate process has ended and its port is free, but not longer than a moment.
  /// Call this once nothing is left to print. Returns at once if there is no such process.
  static void await_apart();
  /// How the separate process ended early: "was ended by signal 9 (Killed)". Empty if it did not,
  /// or if it is not a child of this process.
  static std::string end_of_apart();

 private:
  class Loop;
  static std::unique_ptr<Loop>& own_loop();
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

/// First message of every rank. Ranks of one job send the same values, except for their number.
struct Greeting {
  int rank = 0;
  int ranks = 1;
  std::string version;  ///< of this program
  /// Digest of the workload and of all other values that must be equal.
  std::string job;
  std::string token;  ///< known only to this job's ranks
};

class StoreClient {
 public:
  /// Connects, greets, and waits until all ranks have done so. `apart`: the server is a separate
  /// process. Throws JobEnded.
  StoreClient(const std::string& host, std::uint16_t port, const Greeting& greeting,
              std::chrono::milliseconds timeout, bool apart = false);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  void set(const std::string& key, const std::string& value);
  /// Waits until the key is set. Throws JobEnded.
  std::string get(const std::string& key);
  /// The value as a whole number. Throws JobEnded if it is not one.
  std::int64_t get_number(const std::string& key);
  /// Returns when all ranks have called it. Each `name` is used once.
  void barrier(const std::string& name);
  /// Ends the job for all ranks with this reason, unless it has already ended. Returns the reason
  /// for the end, or an empty text if rank 0 is gone. Never throws.
  std::string end_job(const std::string& reason) noexcept;
  /// The reason why the job ended, if rank 0 answers within half a second; otherwise empty.
  std::string why_ended() noexcept;
  /// The reason why the job ended, without waiting for rank 0; may be called from any thread. Also
  /// empty while another call waits for rank 0, because that call will get the reason.
  std::string why_ended_if_free() noexcept;
  /// Tells rank 0 that this rank is done and leaves. Never throws.
  void leave() noexcept;
  /// The current time of rank 0's monotonic clock.
  std::int64_t time_of_rank_0();
  /// This process's address on its connection to rank 0.
  const std::string& own_address() const { return own_address_; }

 private:
  std::string ask(const Message& question);
  std::string ask_alone(const Message& question);
  void greet(const std::string& host, std::uint16_t port);
  std::string who_is_gone() const;
  std::mutex asking_;
  int socket_ = -1;
  Greeting greeting_;
  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds patience_;
  bool apart_;
  std::string own_address_;
};

}  // namespace ddpsim
