// The processes of one job, as a launcher started them. What they speak over is a module (cli/mpi), loaded where there are
// several: a program that runs alone has nothing of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ddpsim {

struct RankMessage {
  int from = 0;
  std::string text;
};

/// For one thread, the one that joined.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;  ///< waits until all ranks are here

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  /// Threads of this rank that have a CPU each, if every rank of its host has as many.
  virtual int cpus() const = 0;
  virtual void send(int to, std::string_view text) = 0;
  /// What has come, if anything has: it does not wait. Of one sender in the order it was sent.
  virtual std::optional<RankMessage> receive() = 0;
  /// Ends all ranks, wherever they are.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// What a launcher says of this process.
struct Launch {
  int rank = 0;
  int ranks = 1;
};
std::optional<Launch> launched();

/// Throws UsageError where there is no MPI here, or one that the launcher is not of.
std::unique_ptr<Ranks> join_ranks(const Launch& launch);

}  // namespace ddpsim
