// The meeting point of a job: keys and values at rank 0, over plain TCP. Through it ranks find each other, agree
// that they run the same thing, send their measurements to rank 0, and learn that one of them is gone.
//
//   server (rank 0)   waits for every rank's greeting; a rank that greets differently, comes too late or leaves
//                     without a word ends the job: everyone who asks then gets that one reason
//   client (all)      every call ends within the time-out
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace ddpsim {

/// The job cannot go on; the text says why.
class JobEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A TCP socket that listens.
struct Listening {
  int socket = -1;
  std::uint16_t port = 0;
};
enum class From { this_host, everywhere };
/// `port` 0 means any free one. Throws JobEnded where it is taken.
Listening listen_on(std::uint16_t port, From from);

class StoreServer {
 public:
  /// Takes the socket over. Ranks must greet within `timeout`.
  StoreServer(int listening, int ranks, std::chrono::milliseconds timeout);
  ~StoreServer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What every rank says of itself first. Ranks of one job say the same but for their number.
struct Greeting {
  int rank = 0;
  int ranks = 1;
  std::string version;  ///< of this program
  std::string job;      ///< digest of the workload and of all that must be alike
};

class StoreClient {
 public:
  /// Connects, greets and waits until all ranks have. Throws JobEnded.
  StoreClient(const std::string& host, std::uint16_t port, const Greeting& greeting,
              std::chrono::milliseconds timeout);
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
  /// Ends the job for all, with this reason. Never throws.
  void end_job(const std::string& reason) noexcept;
  /// Why the job was ended, as far as rank 0 knows within a second; empty when it does not.
  std::string why_ended() noexcept;
  /// Says that this rank leaves because all is done. Never throws.
  void leave() noexcept;
  /// Nanoseconds to add to this host's monotonic clock to get that of rank 0's.
  std::int64_t clock_offset_ns();
  /// This process's address on the way to rank 0.
  const std::string& own_address() const { return own_address_; }

 private:
  std::string ask(const std::string& verb, const std::string& key, const std::string& value);
  int socket_ = -1;
  Greeting greeting_;
  std::chrono::milliseconds timeout_;
  std::string own_address_;
};

}  // namespace ddpsim
