// A long training run under torchrun whose nodes fail and come back: the share of time that goes
// into training that lasts.
//
//   goodput = samples whose training was not lost / samples of an equally long run on MAX nodes without failures and checkpoints
//
// A discrete-event simulation of the agents in PyTorch 2.13's source (torch/distributed/elastic,
// torch/distributed/run.py).
//
// - A process dies. Its own agent sees it at its next look (agent/server/api.py, _invoke_run: every
//   monitor_interval). It counts a restart against max_restarts, stops its other workers and joins
//   the next round. The other agents see a node on the wait list and do the same, but count no
//   restart. What they see (num_nodes_waiting) is at most a second old: the state holder's
//   cache_duration.
// - A node is lost with its agent. No agent looks for missing nodes. A node without a keep-alive
//   for keep_alive_interval x keep_alive_max_attempt is removed from the participants
//   (dynamic_rendezvous.py, _sanitize), but that restarts nobody. The others' collectives hang
//   until the process group's time-out (ProcessGroupNCCL: 10 min), which counts as a restart for
//   each of them. Or they hang until a node, perhaps the replacement, comes to wait; this counts
//   for nobody.
// - Every worker is restarted from the last checkpoint, whatever the reason.
// - A round with MAX nodes is complete at once. Otherwise it is complete last_call_timeout after
//   the MINth node has joined. Agents ask once a second (_DistributedRendezvousOpExecutor.run). An
//   agent that has waited for join_timeout gives up and closes the rendezvous: the job ends.
// - An agent without restarts left closes the rendezvous: the job ends (launcher/api.py). The job
//   also ends if the node is lost whose agent holds the store, unless the store is elsewhere
//   (c10d_rendezvous_backend.py: TCPStore, read_timeout 60 s).
// - A job that ended is submitted again. torchrun does not say by whom and when: `resubmit`.
//
// Assumptions:
// - Each running node fails at a constant rate, whatever it does.
// - A lost node's place is filled after an exponential time with mean `repair`, so a node's return
//   is not synchronised with checkpoints.
// - For times that are evenly spread between two looks, the mean is used.
// - No failure of network or storage affects several nodes.
// - Any number of nodes can read a checkpoint.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/progress.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Time in a run, which may be longer than Duration's 106 days (up to 292 years).
using RunTime = std::chrono::nanoseconds;
inline double seconds_of(RunTime time) {
  return static_cast<double>(time.count()) / 1e9;
}

/// Names are torchrun's if it has one: options, or keys of --rdzv-conf. Otherwise they are
/// arguments of PyTorch.
struct ElasticOptions {
  int min_nodes = 1;
  int max_nodes = 1;
  int max_restarts = 0;  ///< per agent, during one job
  RunTime monitor_interval = std::chrono::milliseconds(100);
  RunTime last_call_timeout = std::chrono::seconds(30);
  RunTime join_timeout = std::chrono::seconds(600);
  RunTime keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  RunTime read_timeout = std::chrono::seconds(60);  ///< of a store whose host is lost
  RunTime timeout = std::chrono::minutes(10);       ///< of a collective, init_process_group's
  /// Whether the first node's agent holds the store. Otherwise the store is never lost.
  bool store_on_node = true;
  /// How often agents ask for the rendezvous' state: a constant of the source.
  RunTime poll = std::chrono::seconds(1);

  // The following are assumptions, because no source gives them.
  RunTime stop = std::chrono::seconds(5);    ///< workers, from SIGTERM until they are gone
  RunTime start = std::chrono::seconds(60);  ///< processes, imports, CUDA context, communicators
  RunTime load = std::chrono::seconds(60);   ///< loading the checkpoint
  /// Mean time from a node's loss until another node's agent joins.
  RunTime repair = std::chrono::hours(1);
  RunTime resubmit = std::chrono::minutes(10);  ///< from a job's end until agents run again
  /// Share of failures in which a process dies but its node stays. In Llama 3's report, 54 of 419
  /// were caused by software.
  double process_share = 0.13;

  RunTime checkpoint{};  ///< time in which it stops training

  RunTime keep_alive() const { return keep_alive_interval * keep_alive_max_attempt; }
};

/// One failure of a node or a process.
struct NodeFailure {
  RunTime at{};
  int node = 0;  ///< 0 to MAX - 1
  bool process = false;
  std::optional<RunTime> repair = {};  ///< absent: the options' mean
  bool operator==(const NodeFailure&) const = default;
};

/// What the time of a run is spent on. The parts add up to it exactly.
enum class RunPart {
  /// Training that lasts, counted at the speed of MAX nodes: the goodput.
  training,
  /// The rest of the training that lasts, because fewer nodes are slower. Negative if fewer are
  /// faster.
  fewer_nodes,
  checkpoints,
  /// Training since the last checkpoint, and an unfinished checkpoint or step.
  lost_work,
  /// Time from a failure, or a node's arrival, until agents stop their workers.
  detection,
  stop,
  rendezvous,
  /// Within a rendezvous, while fewer than MIN nodes are present.
  waiting,
  start,
  load,
  /// Time from the end of a job until the next one begins.
  ended,
};
inline constexpr std::size_t kRunParts = 11;
/// "training", "fewer_nodes", …
const char* name_of(RunPart part);

/// Why a job ends.
enum class RunEnd {
  restarts_used_up,  ///< by one agent
  store_lost,        ///< with its node
  join_timed_out,    ///< fewer than MIN nodes came in time
};
inline constexpr std::size_t kRunEnds = 3;
/// "restarts_used_up", …
const char* name_of(RunEnd end);

struct RunOutcome {
  std::array<RunTime, kRunParts> parts{};
  std::vector<RunTime> trained;                   ///< lasting, by number of nodes - MIN
  std::int64_t failures = 0;                      ///< up to the end of the run
  std::int64_t restarts = 0;                      ///< of all workers, within a job
  std::int64_t membership_changes = 0;            ///< restarts because a node came
  std::int64_t ended = 0;                         ///< jobs
  std::array<std::int64_t, kRunEnds> ended_by{};  ///< ended jobs, by RunEnd
  RunTime operator[](RunPart part) const { return parts[static_cast<std::size_t>(part)]; }
  RunTime& operator[](RunPart part) { return parts[static_cast<std::size_t>(part)]; }
  RunTime length() const;
  double goodput() const;
};

/// Simulates a run of `length` that begins with a step on MAX nodes. `steps` are a step's times on
/// MIN, MIN + 1, … MAX nodes; the batch of each rank stays the same. A checkpoint follows every
/// `checkpoint_steps`. `failures` are ordered by time. A lost node has none until it is back.
RunOutcome simulate_run(const ElasticOptions& options, const std::vector<RunTime>& steps,
                        std::int64_t checkpoint_steps, const std::vector<NodeFailure>& failures,
                        RunTime length);

/// Each node is up for an exponential time of this mean. A lost node is away for an exponential
/// time of mean `repair`. Failures depend only on (seed, node), so they are the same whatever is
/// done about them.
std::vector<NodeFailure> draw_failures(const ElasticOptions& options, double node_mtbf_seconds,
                                       RunTime length, std::uint64_t seed);

/// A mean over seeds.
struct Sampled {
  double mean = 0;
  double deviation = 0;       ///< from run to run
  double standard_error = 0;  ///< of the mean
};

/// An option that was not given, and how the goodput depends on it.
struct ElasticSensitivity {
  std::string key;
  double value = 0;  ///< seconds, or a share
  double half = 0;   ///< goodput at half the value
  double twice = 0;  ///< goodput at twice the value
};

/// Average cost of one interruption of a group of MAX nodes, without the work it loses.
struct ElasticRestart {
  enum class After { process, lost_node, new_node } after = After::process;
  bool ends_job = false;
  std::array<double, kRunParts> parts{};  ///< seconds, for detection to ended
};
/// "process", "lost_node", "new_node"
const char* name_of(ElasticRestart::After after);

struct ElasticQuestion {
  ElasticOptions options;
  std::vector<Duration> steps;  ///< on MIN to MAX nodes
  double node_mtbf_seconds = 0;
  std::optional<RunTime> length;               ///< absent: until 200 failures are due
  std::optional<RunTime> checkpoint_interval;  ///< absent: the best
  int seeds = 16;
  std::uint64_t seed = 0;
  /// Keys of options that were not given and that no source says.
  std::vector<std::string> assumed;
  bool stated_timeout = false;  ///< otherwise it is the backend's
};

struct ElasticAnswer {
  ElasticQuestion asked;
  RunTime length{};
  Sampled goodput;                        ///< at the interval used
  std::array<double, kRunParts> parts{};  ///< mean seconds of a run
  std::vector<double> trained;            ///< mean seconds, by number of nodes - MIN
  double failures = 0;                    ///< means over seeds, of a run
  double restarts = 0;
  double membership_changes = 0;
  double ended = 0;
  std::array<double, kRunEnds> ended_by{};
  // Checkpoint intervals, in seconds of training.
  double interval = 0;  ///< used, as whole steps
  /// Maximum of a curve through the goodputs of the tried intervals.
  double best_interval = 0;
  /// Lowest and highest interval whose goodput differs from the best by less than a standard error.
  double best_low = 0;
  double best_high = 0;
  double best_goodput = 0;
  double young_interval = 0;
  double daly_interval = 0;
  double daly_goodput = 0;  ///< by Daly's formula, a restart taking `pause`
  double pause = 0;         ///< mean seconds from failure to training
  Sampled goodput_at_daly;  ///< simulated
  std::vector<ElasticSensitivity> sensitivity;
  std::vector<ElasticRestart> interruptions;  ///< a new node only if MIN < MAX
};

/// Simulates every interval with the same failures. Preconditions: a step on each number of nodes
/// takes time, and why_not_elastic(question) is empty. `progress` is called after each checkpoint
/// interval tried.
ElasticAnswer simulate_elastic(const ElasticQuestion& question, Progress* progress = nullptr);

/// Says why a question, including its steps, has no answer or takes too long. Empty otherwise. It
/// names keys of --elastic.
std::string why_not_elastic(const ElasticQuestion& question);

/// Says why the options give no answer ("last_call_timeout must …"). Empty if they do.
std::string why_not_elastic(const ElasticOptions& options);

}  // namespace ddpsim
