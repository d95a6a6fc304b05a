// What rank 0 knows of a job: who has come, what was set, and why it ended. No sockets.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "messages.hpp"

namespace ddpsim {

class JobState {
 public:
  struct Limits {
    std::size_t keys = std::size_t{1} << 20;   ///< 1024 ranks set four for each configuration
    std::size_t bytes = std::size_t{4} << 30;  ///< measurements of all of them
  };
  JobState(int ranks, std::string token) : JobState(ranks, std::move(token), Limits()) {}
  JobState(int ranks, std::string token, Limits limits)
      : ranks_(ranks), token_(std::move(token)), limits_(limits) {}

  /// The rank that a greeting makes of a stranger, or why it stays one (empty: it speaks something else altogether). Ranks
  /// of this job that do not fit together end it; strangers never do.
  struct Admission {
    int rank = -1;
    std::string refused;
    bool ended = false;  ///< the job has: that is why
  };
  Admission admit(const Message& hello);
  bool everyone_is_here() const { return arrived_.size() == static_cast<std::size_t>(ranks_); }
  bool nobody_is_here() const { return arrived_.empty(); }
  /// "1 of 2 ranks were there; missing: 1", and who was sent away meanwhile.
  std::string who_came() const;

  /// Ends the job where it is more than is stored.
  void set(int rank, const std::string& key, std::string value);
  /// Null until somebody sets it.
  const std::string* find(const std::string& key) const;
  void enter(const std::string& barrier, int rank);
  bool all_entered(const std::string& barrier) const;

  /// The first reason stays. It may have come over the network: it is bounded and made legible.
  void end(const std::string& reason);
  /// By a rank, of itself.
  void end_as_told(const std::string& reason);
  bool was_told() const { return told_; }
  bool ended() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  std::string problem_with(int rank, int says_ranks, const std::string& version,
                           const std::string& job) const;

  int ranks_;
  std::string token_;
  Limits limits_;
  std::set<int> arrived_;
  int with_another_token_ = 0;
  std::string first_version_;
  std::string first_job_;
  std::map<std::string, std::string> values_;
  std::size_t stored_bytes_ = 0;
  std::map<std::string, std::set<int>> barriers_;
  std::string reason_;
  bool told_ = false;
};

/// What another rank gives as a reason, fit to be printed: its first line, without control characters, and not too long.
std::string printable_reason(std::string_view reason);

}  // namespace ddpsim
