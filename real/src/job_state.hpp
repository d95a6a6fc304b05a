// State of a job on rank 0: which ranks have connected, which keys were set, and why the job ended.
// It uses no sockets.
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
    std::size_t keys = std::size_t{1} << 20;   ///< 1024 ranks set four per configuration
    std::size_t bytes = std::size_t{4} << 30;  ///< measurements of all ranks
  };
  JobState(int ranks, std::string token) : JobState(ranks, std::move(token), Limits()) {}
  JobState(int ranks, std::string token, Limits limits)
      : ranks_(ranks), token_(std::move(token)), limits_(limits) {}

  /// Result of a greeting: the rank it belongs to, or why it is refused (empty: it uses another
  /// protocol). A rank of this job that does not match the others ends the job; a stranger never
  /// does.
  struct Admission {
    int rank = -1;
    std::string refused;
    bool ended = false;  ///< refused because the job has ended
  };
  Admission admit(const Message& hello);
  bool everyone_is_here() const { return arrived_.size() == static_cast<std::size_t>(ranks_); }
  bool nobody_is_here() const { return arrived_.empty(); }
  /// "1 of 2 ranks were there; missing: 1", and which connections were refused meanwhile.
  std::string who_came() const;

  /// Stores a value. Ends the job if the store becomes too large.
  void set(int rank, const std::string& key, std::string value);
  /// Null until the key is set.
  const std::string* find(const std::string& key) const;
  void enter(const std::string& barrier, int rank);
  bool all_entered(const std::string& barrier) const;

  /// Ends the job. The first reason is kept. It may have come over the network, so it is shortened
  /// and made printable.
  void end(const std::string& reason);
  /// Ends the job with the reason that a rank gives for its own failure. `was_told` is true
  /// afterwards.
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

/// A reason from another rank, made printable: its first line, without control characters,
/// shortened.
std::string printable_reason(std::string_view reason);

}  // namespace ddpsim
