// What ranks and rank 0 say to each other over a TCP socket: a count of bytes, then fields, each a count and its bytes. The
// first field, the verb, decides what the rest may be and how long: that is known before memory is spent on it.
//
//   a stranger        hello magic token rank ranks version job
//   a rank            set key value | get key | barrier name | time | why | end reason | leave
//   rank 0 answers    welcome (greeting read, others are awaited) | ok value | ended reason | refused reason
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

using Message = std::vector<std::string>;

/// The first word of whoever knows what this port is for.
constexpr std::string_view kStoreMagic = "ddpsim-store/2";

constexpr std::size_t kMostGreetingBytes = 512;
constexpr std::size_t kMostTokenBytes = 128;
constexpr std::size_t kMostKeyBytes = 256;
constexpr std::size_t kMostReasonBytes = 1024;
/// Measurements of a rank: some 1.5 kB for a step of ResNet-50.
constexpr std::size_t kMostValueBytes = 256U << 20;

/// Who speaks decides what may be said.
enum class Speaker { stranger, rank, rank_0 };

/// One message, put together from the bytes as they come: what is announced costs nothing, what is said at most what its
/// verb allows.
class MessageDecoder {
 public:
  enum class State { incomplete, complete, refused };

  explicit MessageDecoder(Speaker speaker) : speaker_(speaker) {}
  State state() const { return state_; }
  /// How many bytes this message still takes, as far as is known; none once it is complete or refused.
  std::size_t wants() const;
  /// At most wants() of them.
  State take(std::string_view bytes);
  /// Of a complete one. The decoder then begins the next.
  Message take_message();

 private:
  void judge_verb();
  void finish();

  Speaker speaker_;
  State state_ = State::incomplete;
  std::string count_;
  std::size_t announced_ = 0;
  bool verb_known_ = false;
  std::string body_;
  Message message_;
};

/// The bytes of a message.
std::string encoded(const Message& message);

/// Whether errno of the last call on a socket asks for patience.
bool try_again();

/// Blocks until all is on its way, at most until `deadline`; false when the other side is gone or does not take it.
bool send_message(int socket, const Message& message,
                  std::chrono::steady_clock::time_point deadline);
/// Absent when the other side is gone, sends what it may not, or nothing until `deadline`; `timed_out` tells the latter
/// apart.
std::optional<Message> receive_message(int socket, Speaker from,
                                       std::chrono::steady_clock::time_point deadline,
                                       bool* timed_out = nullptr);

}  // namespace ddpsim
