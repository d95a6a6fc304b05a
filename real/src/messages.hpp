// Messages between ranks and rank 0 over a TCP socket. A message is a number of bytes, then fields,
// each with its own number of bytes. The first field is the verb. It decides which fields may
// follow and how long they may be, before memory is allocated for them.
//
// - a stranger sends: hello magic token rank ranks version job
// - a rank sends: set key value | get key | barrier name | time | why | end reason | leave
// - rank 0 answers: welcome (the greeting was read, others are awaited) | ok value | ended reason |
//   refused reason
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

using Message = std::vector<std::string>;

/// First word of a client that speaks this protocol.
constexpr std::string_view kStoreMagic = "ddpsim-store/2";

constexpr std::size_t kMostGreetingBytes = 512;
constexpr std::size_t kMostTokenBytes = 128;
constexpr std::size_t kMostKeyBytes = 256;
constexpr std::size_t kMostReasonBytes = 1024;
/// Measurements of a rank. A step of ResNet-50 takes some 1.5 kB.
constexpr std::size_t kMostValueBytes = 256U << 20;

/// The sender, which decides which messages are allowed.
enum class Speaker { stranger, rank, rank_0 };

/// Assembles one message from bytes as they arrive. An announced size allocates nothing. Received
/// bytes use at most what the verb allows.
class MessageDecoder {
 public:
  enum class State { incomplete, complete, refused };

  explicit MessageDecoder(Speaker speaker) : speaker_(speaker) {}
  State state() const { return state_; }
  /// Number of bytes that this message still needs, as far as is known. Zero once it is complete or
  /// refused.
  std::size_t wants() const;
  /// Takes at most wants() bytes.
  State take(std::string_view bytes);
  /// Returns the complete message. The decoder then begins the next one.
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

/// Whether errno of the last call on a socket means "try again".
bool try_again();

/// Blocks until everything is sent, at most until `deadline`. Returns false if the other side is
/// gone or does not read.
bool send_message(int socket, const Message& message,
                  std::chrono::steady_clock::time_point deadline);
/// Absent if the other side is gone, sends something that is not allowed, or sends nothing until
/// `deadline`. Only the last case sets `timed_out`.
std::optional<Message> receive_message(int socket, Speaker from,
                                       std::chrono::steady_clock::time_point deadline,
                                       bool* timed_out = nullptr);

}  // namespace ddpsim
