// What the ranks that were started here leave for the process that waits for them, so that a job that fails says one thing
// once. It lies in memory that the processes share.
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace ddpsim {

class JobMessage {
 public:
  enum class Cause { own, heard };
  /// For this process and those it forks. Throws std::system_error.
  static JobMessage& shared();
  /// The first of each cause counts.
  void leave(Cause cause, const std::string& text) noexcept;
  /// What a rank found out by itself, rather than what it heard of others; empty: nobody left anything.
  std::string text() const;

 private:
  struct Place {
    std::atomic<bool> taken;
    std::atomic<bool> there;
    std::array<char, 2048> text;
  };
  std::array<Place, 2> places_;
};

}  // namespace ddpsim
