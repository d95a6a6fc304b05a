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

TerminalProgress::TerminalProgress(std::string parts, Interrupt interrupt)
    : parts_(std::move(parts)), interrupt_(interrupt), on_terminal_(isatty(STDERR_FILENO) == 1) {
  noted = 0;
  if (interrupt_ == Interrupt::ends) return;
  struct sigaction action {};
  action.sa_handler = note;
  // The second interrupt then ends the program.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

TerminalProgress::~TerminalProgress() {
  if (interrupt_ == Interrupt::keeps) sigaction(SIGINT, &before_, nullptr);
  take_away();
}

void TerminalProgress::take_away() {
  if (std::exchange(line_, false)) std::fputs(kTakenAway, stderr);
}

bool TerminalProgress::go_on(std::size_t done, std::size_t total) {
  if (noted != 0) return false;
  const Clock::time_point now = Clock::now();
  if (done <= done_) phase_ = heard_;
  done_ = done;
  heard_ = now;
  if (done == total) {
    take_away();
    return true;
  }
  if (!on_terminal_ || now - begin_ < kPatience || (line_ && now - shown_ < kBetween)) return true;
  const double passed = std::chrono::duration<double>(now - phase_).count();
  const auto left = static_cast<double>(total - done) / static_cast<double>(done) * passed;
  std::fputs(fmt::format("{}{} of {} {}, {:.0f} s left{}", kTakenAway, done, total, parts_,
                         std::ceil(left),
                         interrupt_ == Interrupt::keeps ? " (Ctrl-C: stop here, keep these)" : "")
                 .c_str(),
             stderr);
  std::fflush(stderr);
  shown_ = now;
  line_ = true;
  return true;
}

}  // namespace ddpsim
