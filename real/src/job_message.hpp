// Messages from the ranks to the process that started them and waits for them. So a job that fails
// prints one message, once. The messages are in memory that the processes share.
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace ddpsim {

class JobMessage {
 public:
  /// The rank found the problem itself, heard of it from others, or lost rank 0. The first cause is
  /// preferred.
  enum class Cause { own, heard, lost };
  /// The message of this process and of those that it forks. Throws std::system_error.
  static JobMessage& shared();
  /// Leaves a message. Only the first one of each cause is kept.
  void leave(Cause cause, const std::string& text) noexcept;
  /// The preferred message; empty if there is none.
  std::string text() const;

 private:
  struct Place {
    std::atomic<bool> taken;
    std::atomic<bool> there;
    std::array<char, 2048> text;
  };
  std::array<Place, 3> places_;
};

}  // namespace ddpsim
