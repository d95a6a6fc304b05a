#include "terminal_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

namespace ddpsim {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kBetween = std::chrono::milliseconds(200);
constexpr const char* kTakenAway = "\r\033[K";

volatile std::sig_atomic_t noted = 0;
void note(int) {
  noted = 1;
}

}  // namespace

TerminalProgress::TerminalProgress(std::string parts)
    : parts_(std::move(parts)), on_terminal_(isatty(STDERR_FILENO) == 1) {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags =
      static_cast<int>(SA_RESETHAND);  // whoever does not want to wait interrupts again
  sigaction(SIGINT, &action, &before_);
}

TerminalProgress::~TerminalProgress() {
  sigaction(SIGINT, &before_, nullptr);
  if (line_) std::fputs(kTakenAway, stderr);
}

bool TerminalProgress::go_on(std::size_t done, std::size_t total) {
  if (noted != 0) return false;
  const Clock::time_point now = Clock::now();
  if (!on_terminal_ || now - begin_ < kPatience || (line_ && now - shown_ < kBetween)) return true;
  const double passed = std::chrono::duration<double>(now - begin_).count();
  const auto left = static_cast<double>(total - done) / static_cast<double>(done) * passed;
  std::fputs(fmt::format("{}{} of {} {}, {:.0f} s left (Ctrl-C: stop here, keep these)", kTakenAway,
                         done, total, parts_, std::ceil(left))
                 .c_str(),
             stderr);
  std::fflush(stderr);
  shown_ = now;
  line_ = true;
  return true;
}

}  // namespace ddpsim
