// The meeting point of a job: keys and values at rank 0, over plain TCP. Through it ranks find each other, agree
// that they run the same thing, send their measurements to rank 0, and learn that one of them is gone.
//
//   server (rank 0)   waits for every rank's greeting; a rank that greets differently, comes too late or leaves
//                     without a word ends the job: everyone who asks then gets that one reason
//   client (all)      every call ends within the time-out
//
// Whoever connects is a stranger until it has greeted with the job's token. Strangers get a few seconds, a few hundred
// bytes and a few places; what they do ends no job.
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

/// The job cannot go on; the text says why.
class JobEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The same, heard from rank 0: of ranks that a launcher started somebody else says it.
class SaidElsewhere : public JobEnded {
 public:
  using JobEnded::JobEnded;
};

class StoreServer {
 public:
  /// Takes the sockets over. Ranks must greet within `timeout`, with this token.
  StoreServer(const Listening& listening, int ranks, std::chrono::milliseconds timeout,
              std::string token = "");
  ~StoreServer();

  /// The same in a process of its own, for rank 0 of a job that a launcher started; returns in this one. It goes when
  /// this process has gone, and says on standard error, once, what no rank can say of itself: that it is gone, did not
  /// come, does not fit. Before this process has threads.
  static void serve_apart(const Listening& listening, int ranks, std::chrono::milliseconds timeout,
                          const std::string& token);
  /// This process has nothing to say any more: returns when the other one has gone and its port is free, at the latest a
  /// moment later. Where there is none, at once.
  static void await_apart();
  /// How it ended before it was time: "was ended by signal 9 (Killed)". Empty where it has not, or is not this process's.
  static std::string end_of_apart();

 private:
  class Loop;
  static std::unique_ptr<Loop>& own_loop();
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

/// What every rank says of itself first. Ranks of one job say the same but for their number.
struct Greeting {
  int rank = 0;
  int ranks = 1;
  std::string version;  ///< of this program
  std::string job;      ///< digest of the workload and of all that must be alike
  std::string token;    ///< what only this job's ranks know
};

class StoreClient {
 public:
  /// Connects, greets and waits until all ranks have. `apart`: the server is a process of its own. Throws JobEnded.
  StoreClient(const std::string& host, std::uint16_t port, const Greeting& greeting,
              std::chrono::milliseconds timeout, bool apart = false);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  void set(const std::string& key, const std::string& value);
  /// Waits until somebody sets it. Throws JobEnded.
  std::string get(const std::string& key);
  /// The same, as the whole number it is. Throws JobEnded where it is none.
  std::int64_t get_number(const std::string& key);
  /// All ranks have called it. `name` is used once.
  void barrier(const std::string& name);
  /// Ends the job for all, with this reason, where it has not ended already; why it did, or nothing where rank 0 is
  /// gone. Never throws.
  std::string end_job(const std::string& reason) noexcept;
  /// Why the job was ended, as far as rank 0 knows within half a second; empty when it does not, or is gone.
  std::string why_ended() noexcept;
  /// The same at once, from any thread; empty, too, while another call waits for rank 0: that one will hear it.
  std::string why_ended_if_free() noexcept;
  /// Says that this rank leaves because all is done. Never throws.
  void leave() noexcept;
  /// Rank 0's monotonic clock, now.
  std::int64_t time_of_rank_0();
  /// This process's address on the way to rank 0.
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
