#include "world.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "ddpsim/formats/number.hpp"
#include "exit_code.hpp"
#include "job_message.hpp"
#include "job_token.hpp"
#include "launcher_variables.hpp"
#include "listening.hpp"
#include "printing.hpp"
#include "signal_text.hpp"
#include "store.hpp"

namespace ddpsim {
namespace {

constexpr std::uint16_t kTorchPort = 29500;  // torchrun's default
constexpr const char* kLoopback = "127.0.0.1";

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

std::optional<int> number(const char* name) {
  const std::optional<std::string> text = variable(name);
  if (!text) return std::nullopt;
  const auto value = parse_number<int>(*text);
  if (!value || *value < 0) throw JobEnded(fmt::format("{}={} is not a number", name, *text));
  return value;
}

constexpr LauncherVariables kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};  // or set by hand

volatile std::sig_atomic_t interrupted = 0;
void note_interrupt(int) {
  interrupted = 1;
}

/// The exit code for a child's wait status.
int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

struct Child {
  pid_t pid = 0;       ///< 0: it has ended
  int stopped_by = 0;  ///< the signal, while it is stopped
};

/// Text such as "ranks 2 to 3 were".
std::string name_of_process(std::size_t process, int ranks_each) {
  const World world{.rank = static_cast<int>(process)};
  return name_of_ranks(ranks_of_process(world, ranks_each)) + (ranks_each > 1 ? " were" : " was");
}

/// Kills stopped processes, because they receive no messages and never end by themselves. Returns
/// which they were: "rank 1 was stopped by …".
std::string kill_stopped(const std::vector<Child>& children, int ranks_each) {
  std::string stopped;
  for (std::size_t process = 0; process < children.size(); ++process) {
    const Child& child = children[process];
    if (child.pid == 0 || child.stopped_by == 0) continue;
    kill(child.pid, SIGKILL);
    stopped += fmt::format("{}{} stopped by {}", stopped.empty() ? "" : ", ",
                           name_of_process(process, ranks_each), signal_text(child.stopped_by));
  }
  return stopped;
}

[[noreturn]] void supervise(std::vector<Child> children, int ranks_each,
                            const JobMessage& message) {
  struct sigaction action {};
  action.sa_handler = note_interrupt;  // without SA_RESTART, so that waitpid returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  constexpr int kGraceSeconds = 5;  // time for the others to report and end
  int code = 0;
  std::size_t left = children.size();
  bool killed = false;
  std::time_t deadline = 0;
  bool said = false;
  std::string stopped;
  while (left > 0) {
    int status = 0;
    const pid_t changed =
        waitpid(-1, &status, WUNTRACED | WCONTINUED | (deadline != 0 ? WNOHANG : 0));
    if (changed > 0) {
      const auto child = std::ranges::find(children, changed, &Child::pid);
      if (child == children.end()) continue;  // belonged to the process before its exec
      child->stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        --left;
        child->pid = 0;
        if (code == 0) code = exit_code(status);
      }
      if (WIFSIGNALED(status) && interrupted == 0 && !said && !killed && stopped.empty()) {
        said = true;
        const auto process = static_cast<std::size_t>(child - children.begin());
        print_error(fmt::format("ddpsim-real: {} ended by {}", name_of_process(process, ranks_each),
                                signal_text(WTERMSIG(status))));
      }
      if (code != 0 && deadline == 0) deadline = std::time(nullptr) + kGraceSeconds;
      if (code != 0 && stopped.empty()) stopped = kill_stopped(children, ranks_each);
      continue;
    }
    if (interrupted != 0 || (deadline != 0 && std::time(nullptr) > deadline)) {
      for (const Child& child : children)
        if (child.pid > 0) kill(child.pid, SIGKILL);
      killed = true;
      if (interrupted != 0) code = kInterrupted;
      deadline = deadline == 0 ? std::time(nullptr) : deadline;
    }
    if (deadline != 0) usleep(20'000);
  }
  const std::string text = message.text();
  if (interrupted == 0 && !said && !(text.empty() && stopped.empty()))
    print_error((text.empty() ? "ddpsim-real" : text) +
                (stopped.empty() ? ""
                 : text.empty()  ? ": "
                                 : "; ") +
                stopped);
  std::_Exit(interrupted != 0 ? kInterrupted : code);
}

/// Absent if this launcher set nothing.
std::optional<World> world_of(const LauncherVariables& names) {
  const std::optional<int> rank = number(names.rank);
  const std::optional<int> ranks = number(names.ranks);
  if (!ranks && (!rank || names.rank_alone_says_nothing)) return std::nullopt;
  if (!rank || !ranks)
    throw JobEnded(fmt::format("{} is set without {}", rank ? names.rank : names.ranks,
                               rank ? names.ranks : names.rank));
  World world{.rank = *rank, .ranks = *ranks, .launched = true};
  const std::optional<int> local_rank = number(names.local_rank);
  world.local_rank = local_rank.value_or(0);
  world.local_rank_known = local_rank.has_value();
  world.token = token_from_environment();
  if (world.ranks < 1 || world.rank >= world.ranks)
    throw JobEnded(
        fmt::format("{}={} does not fit {}={}", names.rank, world.rank, names.ranks, world.ranks));
  if (world.ranks > kMostRanksOfJob)
    throw JobEnded(fmt::format("{}={} is more than the {} ranks that ddpsim-real runs at most",
                               names.ranks, world.ranks, kMostRanksOfJob));
  if (world.local_rank >= kMostRanksOfJob)
    throw JobEnded(fmt::format("{}={} is out of range; expected 0 to {}", names.local_rank,
                               world.local_rank, kMostRanksOfJob - 1));
  const std::optional<std::string> host = variable("MASTER_ADDR");
  world.host = host.value_or(kLoopback);
  const int port = number("MASTER_PORT").value_or(kTorchPort);
  // torchrun's agent itself listens on MASTER_PORT.
  const bool agent = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  constexpr int kPorts = 65536;
  if (port <= 0 || port + (agent ? 1 : 0) >= kPorts)
    throw JobEnded(fmt::format("MASTER_PORT={} is not a port number", port));
  world.port = static_cast<std::uint16_t>(port + (agent ? 1 : 0));
  return world;
}

}  // namespace

std::optional<World> world_from_environment() {
  if (const auto world = world_of(kTorchrun)) return world;
  for (const LauncherVariables& names : kMpiLaunchers)
    if (const auto world = world_of(names)) return world;
  return std::nullopt;
}

void check_apart(const std::function<void()>& check) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw JobEnded(std::string("pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::string problem;
    try {
      check();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    std::_Exit(write(ends[1], problem.data(), problem.size()) < 0 ? 1 : 0);
  }
  const std::string refused = child < 0 ? std::strerror(errno) : "";
  close(ends[1]);
  std::string problem;
  std::array<char, 256> part{};
  for (ssize_t size = 0; (size = read(ends[0], part.data(), part.size())) > 0;)
    problem.append(part.data(), static_cast<std::size_t>(size));
  close(ends[0]);
  if (child < 0) throw JobEnded("cannot start a process: " + refused);
  waitpid(child, nullptr, 0);
  if (!problem.empty()) throw JobEnded(problem);
}

World fork_processes(int processes, int ranks_each) {
  const Listening listening = listen_on(kLoopback, 0);
  // The fork passes it on, so it is not in an environment or on a command line.
  const std::string token = random_token();
  JobMessage& message = JobMessage::shared();
  std::vector<Child> children;
  const pid_t parent = getpid();
  for (int process = 0; process < processes; ++process) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphans
      if (getppid() != parent) std::_Exit(1);
      if (process != 0) close_all(listening);
      return {.rank = process,
              .ranks = processes,
              .local_rank = process,
              .host = kLoopback,
              .port = listening.port,
              .listening = process == 0 ? listening.sockets.front() : -1,
              .token = token,
              .message = &message};
    }
    if (child < 0) {
      const std::string reason = std::strerror(errno);
      for (const Child& started : children) kill(started.pid, SIGKILL);
      throw JobEnded("cannot start a process: " + reason);
    }
    children.push_back({.pid = child});
  }
  close_all(listening);
  supervise(std::move(children), ranks_each, message);
}

std::vector<World> ranks_of_process(const World& process, int ranks_each) {
  if (std::max(process.ranks, process.local_rank + 1) > kMostRanksOfJob / ranks_each)
    throw JobEnded(
        fmt::format("{} processes of {} ranks each are more than the {} ranks that ddpsim-real "
                    "runs at most. Lower --ranks-per-process",
                    std::max(process.ranks, process.local_rank + 1), ranks_each, kMostRanksOfJob));
  std::vector<World> ranks(static_cast<std::size_t>(ranks_each), process);
  for (int i = 0; i < ranks_each; ++i) {
    World& world = ranks[static_cast<std::size_t>(i)];
    world.rank = process.rank * ranks_each + i;
    world.ranks = process.ranks * ranks_each;
    world.local_rank = process.local_rank * ranks_each + i;
    world.ranks_of_process = ranks_each;
    world.index_in_process = i;
    if (world.rank != 0) world.listening = -1;
  }
  return ranks;
}

std::string name_of_ranks(const std::vector<World>& ranks) {
  return ranks.size() == 1 ? fmt::format("rank {}", ranks.front().rank)
                           : fmt::format("ranks {} to {}", ranks.front().rank, ranks.back().rank);
}

}  // namespace ddpsim
