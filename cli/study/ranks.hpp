// The processes of one job, started by a launcher. They communicate through a module (cli/mpi), which is loaded only if there are
// several processes.
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

/// May be used only by the thread that joined.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// Waits for all ranks.
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  /// Returns how many CPUs this rank may use if all ranks of its host use as many.
  virtual int cpus() const = 0;
  virtual void send(int to, std::string_view text) = 0;
  /// Returns the next message, if one has arrived; it does not wait. Messages of one sender arrive in order.
  virtual std::optional<RankMessage> receive() = 0;
  /// Ends all ranks on all hosts.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// Rank and number of ranks of this process.
struct Launch {
  int rank = 0;
  int ranks = 1;
};
/// Returns what the launcher set in the environment; nothing if no launcher started this process.
std::optional<Launch> launched();

/// Throws UsageError if MPI is missing here, or is not the one of the launcher.
std::unique_ptr<Ranks> join_ranks(const Launch& launch);

}  // namespace ddpsim
