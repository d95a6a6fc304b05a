#include "job_state.hpp"

#include <fmt/format.h>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "job_token.hpp"

namespace ddpsim {

std::string printable_reason(std::string_view reason) {
  constexpr std::size_t kMost = kMostReasonBytes / 2;
  return legible(reason.substr(0, reason.find('\n')), kMost);
}

/// Why this rank is refused; empty if it is not.
std::string JobState::problem_with(int rank, int says_ranks, const std::string& version,
                                   const std::string& job) const {
  if (says_ranks != ranks_)
    return fmt::format(
        "rank {} was told of {} ranks, but rank 0 of {}: every rank needs the same WORLD_SIZE",
        rank, says_ranks, ranks_);
  if (rank < 0 || rank >= ranks_)
    return fmt::format("a process calls itself rank {}; ranks are 0 to {}", rank, ranks_ - 1);
  if (arrived_.contains(rank)) return fmt::format("two processes call themselves rank {}", rank);
  if (!arrived_.empty() && version != first_version_)
    return fmt::format(
        "rank {} runs version {}, but others run {}: start the same program everywhere", rank,
        legible(version), first_version_);
  if (!arrived_.empty() && job != first_job_)
    return fmt::format("rank {} was given another workload or other options than the others", rank);
  return "";
}

JobState::Admission JobState::admit(const Message& hello) {
  const std::string& magic = hello[1];
  const std::string& token = hello[2];
  if (magic != kStoreMagic) return {};
  if (!same_token(token, token_)) {
    ++with_another_token_;
    return {.rank = -1,
            .refused = "rank 0 belongs to another job: give every rank the same DDPSIM_JOB_TOKEN"};
  }
  if (ended()) return {.rank = -1, .refused = reason_, .ended = true};
  const int rank = parse_number<int>(hello[3]).value_or(-1);
  const std::string& version = hello[5];
  const std::string problem =
      problem_with(rank, parse_number<int>(hello[4]).value_or(-1), version, hello[6]);
  if (!problem.empty()) {
    // Once all ranks are there, a late connection does not disturb the job.
    if (!everyone_is_here()) end(problem);
    return {.rank = -1, .refused = problem, .ended = ended()};
  }
  if (arrived_.empty()) {
    first_version_ = legible(version);
    first_job_ = hello[6];
  }
  arrived_.insert(rank);
  return {.rank = rank, .refused = ""};
}

std::string JobState::who_came() const {
  constexpr std::size_t kNamed = 16;
  const std::size_t absent = static_cast<std::size_t>(ranks_) - arrived_.size();
  std::string missing;
  std::size_t named = 0;
  for (int rank = 0; rank < ranks_ && named < kNamed; ++rank) {
    if (arrived_.contains(rank)) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    ++named;
  }
  if (absent > named) missing += fmt::format(" and {} more", absent - named);
  std::string text =
      fmt::format("{} of {} ranks were there; missing: {}", arrived_.size(), ranks_, missing);
  if (with_another_token_ > 0)
    text += fmt::format("; {} came with another DDPSIM_JOB_TOKEN", with_another_token_);
  return text;
}

void JobState::set(int rank, const std::string& key, std::string value) {
  if (values_.size() >= limits_.keys || stored_bytes_ + value.size() > limits_.bytes) {
    end(fmt::format("rank {} stores more than rank 0 can hold: lower --iterations", rank));
    return;
  }
  std::string& place = values_[key];
  stored_bytes_ += value.size();
  stored_bytes_ -= place.size();
  place = std::move(value);
}

const std::string* JobState::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void JobState::enter(const std::string& barrier, int rank) {
  if (barriers_.size() < limits_.keys) barriers_[barrier].insert(rank);
}

bool JobState::all_entered(const std::string& barrier) const {
  const auto found = barriers_.find(barrier);
  return found != barriers_.end() && found->second.size() == static_cast<std::size_t>(ranks_);
}

void JobState::end(const std::string& reason) {
  if (reason_.empty()) reason_ = printable_reason(reason.empty() ? "no reason given" : reason);
}

void JobState::end_as_told(const std::string& reason) {
  if (ended()) return;
  told_ = true;
  end(reason);
}

}  // namespace ddpsim
