// What the ranks that were started here leave for the process that waits for them, so that a job that fails says one thing
// once. It lies in memory that the processes share.
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace ddpsim {

class JobMessage {
 public:
  /// What a rank found out by itself, what it heard of others, or that rank 0 is not to be reached: the first is wanted.
  enum class Cause { own, heard, lost };
  /// For this process and those it forks. Throws std::system_error.
  static JobMessage& shared();
  /// The first of each cause counts.
  void leave(Cause cause, const std::string& text) noexcept;
  /// Empty: nobody left anything.
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
