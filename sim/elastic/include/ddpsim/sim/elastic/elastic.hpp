// A long training run under torchrun, whose nodes fail and come back: what share of the time is training that lasts.
//
//   goodput = samples whose training was not lost / samples of as long a run on MAX nodes without failures and checkpoints
//
// A discrete-event simulation of the agents, as PyTorch 2.13's source has them (torch/distributed/elastic, torch/distributed/run.py):
//
// - A process dies: its own agent sees it at its next look (agent/server/api.py, _invoke_run: every monitor_interval), counts a restart
//   against max_restarts, stops its other workers and joins the next round. The others see a node on the wait list (num_nodes_waiting, of a
//   state at most a second old: the state holder's cache_duration), which counts for nobody, and do the same.
// - A node is lost, agent and all: no agent looks at who is missing. What has no keep-alive for keep_alive_interval x
//   keep_alive_max_attempt is struck off the participants (dynamic_rendezvous.py, _sanitize), and that restarts nobody. The others' collectives hang until
//   the process group's time-out (ProcessGroupNCCL: 10 min), which counts for each of them; or until a node, perhaps the
//   replacement, comes to wait, which counts for nobody.
// - Every worker is restarted, from the last checkpoint, whatever the reason.
// - A round is complete at once with MAX nodes; else last_call_timeout after the MINth has joined. Agents ask once a second
//   (_DistributedRendezvousOpExecutor.run). One that has waited for join_timeout gives up and closes the rendezvous: the job ends.
// - An agent whose restarts are used up closes the rendezvous: the job ends (launcher/api.py). So it does when the node is lost whose agent
//   holds the store (c10d_rendezvous_backend.py: TCPStore, read_timeout 60 s), unless that stands elsewhere.
// - A job that ended is submitted again, by whom and when torchrun does not say: `resubmit`.
//
// Assumptions: each node fails at a constant rate while it is up, whatever it does; a lost node's place is filled after an exponential time of
// mean `repair`, so that a node's return keeps no step with checkpoints; of moments that are evenly spread between two looks the mean is taken; no failure of network or storage that hits several nodes; a checkpoint can be read
// by any number of nodes.
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

/// Of a run that may be longer than Duration's 106 days (292 years).
using RunTime = std::chrono::nanoseconds;
inline double seconds_of(RunTime time) {
  return static_cast<double>(time.count()) / 1e9;
}

/// Names are torchrun's where it has one: options, keys of --rdzv-conf, else arguments of PyTorch.
struct ElasticOptions {
  int min_nodes = 1;
  int max_nodes = 1;
  int max_restarts = 0;  ///< of one agent, for as long as the job lives
  RunTime monitor_interval = std::chrono::milliseconds(100);
  RunTime last_call_timeout = std::chrono::seconds(30);
  RunTime join_timeout = std::chrono::seconds(600);
  RunTime keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  RunTime read_timeout = std::chrono::seconds(60);  ///< of the store, whose host is lost
  RunTime timeout = std::chrono::minutes(10);       ///< of a collective, init_process_group's
  bool store_on_node = true;  ///< the first node's agent holds the store; else it is never lost
  /// How often agents ask for the rendezvous' state: a constant of the source.
  RunTime poll = std::chrono::seconds(1);

  // What no source says: assumptions.
  RunTime stop = std::chrono::seconds(5);    ///< workers, from SIGTERM until they are gone
  RunTime start = std::chrono::seconds(60);  ///< processes, imports, CUDA context, communicators
  RunTime load = std::chrono::seconds(60);   ///< of the checkpoint
  /// Mean, from a node's loss until another's agent joins.
  RunTime repair = std::chrono::hours(1);
  RunTime resubmit = std::chrono::minutes(10);  ///< from a job's end until agents run again
  /// Of failures those in which a process dies and its node stays. Llama 3's report: 54 of 419 were software's.
  double process_share = 0.13;

  RunTime checkpoint{};  ///< in which one stops training

  RunTime keep_alive() const { return keep_alive_interval * keep_alive_max_attempt; }
};

/// One thing that fails.
struct NodeFailure {
  RunTime at{};
  int node = 0;  ///< 0 to MAX - 1
  bool process = false;
  std::optional<RunTime> repair = {};  ///< of a lost node; absent: the options' mean
  bool operator==(const NodeFailure&) const = default;
};

/// Where the time of a run goes; the parts add up to it, exactly.
enum class RunPart {
  training,  ///< that lasts, as if at MAX nodes' speed: goodput
  fewer_nodes,  ///< the rest of the training that lasts: slower than MAX nodes. Negative where fewer are faster
  checkpoints,
  lost_work,  ///< trained since the last checkpoint, and a checkpoint or a step begun
  detection,  ///< from a failure, or a node's coming, until agents stop their workers
  stop,
  rendezvous,
  waiting,  ///< within a rendezvous: fewer than MIN nodes are there
  start,
  load,
  ended,  ///< from the end of a job until its next begins
};
inline constexpr std::size_t kRunParts = 11;
/// "training", "fewer_nodes", …
const char* name_of(RunPart part);

/// What ends a job.
enum class RunEnd {
  restarts_used_up,  ///< an agent's
  store_lost,        ///< with its node
  join_timed_out,    ///< fewer than MIN nodes came in time
};
inline constexpr std::size_t kRunEnds = 3;
/// "restarts_used_up", …
const char* name_of(RunEnd end);

struct RunOutcome {
  std::array<RunTime, kRunParts> parts{};
  std::vector<RunTime> trained;                   ///< that lasts, by number of nodes - MIN
  std::int64_t failures = 0;                      ///< up to the end of the run
  std::int64_t restarts = 0;                      ///< of all workers, within a job
  std::int64_t membership_changes = 0;            ///< of these, for a node that came
  std::int64_t ended = 0;                         ///< jobs
  std::array<std::int64_t, kRunEnds> ended_by{};  ///< of these, by RunEnd
  RunTime operator[](RunPart part) const { return parts[static_cast<std::size_t>(part)]; }
  RunTime& operator[](RunPart part) { return parts[static_cast<std::size_t>(part)]; }
  RunTime length() const;
  double goodput() const;
};

/// A run of `length` that begins with a step on MAX nodes. `steps`: a step's time on MIN nodes, MIN + 1, … MAX (the batch of each rank is the
/// same); a checkpoint after every `checkpoint_steps`. `failures`: by time; of a node that is lost none until it is back.
RunOutcome simulate_run(const ElasticOptions& options, const std::vector<RunTime>& steps,
                        std::int64_t checkpoint_steps, const std::vector<NodeFailure>& failures,
                        RunTime length);

/// Each node is up for an exponential time of this mean, and a lost one is away for one of mean `repair`. Drawn from (seed, node) alone:
/// the same failures whatever is done about them.
std::vector<NodeFailure> draw_failures(const ElasticOptions& options, double node_mtbf_seconds,
                                       RunTime length, std::uint64_t seed);

/// Of a mean over seeds.
struct Sampled {
  double mean = 0;
  double deviation = 0;       ///< from run to run
  double standard_error = 0;  ///< of the mean
};

/// An option that nobody stated, and what hangs on it.
struct ElasticSensitivity {
  std::string key;
  double value = 0;  ///< seconds, or a share
  double half = 0;   ///< goodput at half of it …
  double twice = 0;  ///< … and at twice
};

/// What one interruption of a group of MAX nodes costs, on average, beside the work it loses.
struct ElasticRestart {
  enum class After { process, lost_node, new_node } after = After::process;
  bool ends_job = false;
  std::array<double, kRunParts> parts{};  ///< seconds; of detection … ended
};
/// "process", "lost_node", "new_node"
const char* name_of(ElasticRestart::After after);

struct ElasticQuestion {
  ElasticOptions options;
  std::vector<Duration> steps;  ///< on MIN … MAX nodes
  double node_mtbf_seconds = 0;
  std::optional<RunTime> length;               ///< absent: until 200 failures are due
  std::optional<RunTime> checkpoint_interval;  ///< absent: the best
  int seeds = 16;
  std::uint64_t seed = 0;
  std::vector<std::string> assumed;  ///< keys of options that nobody stated, and no source says
  bool stated_timeout = false;       ///< else it is the backend's
};

struct ElasticAnswer {
  ElasticQuestion asked;
  RunTime length{};
  Sampled goodput;                        ///< at the interval in force
  std::array<double, kRunParts> parts{};  ///< mean seconds of a run
  std::vector<double> trained;            ///< mean seconds, by number of nodes - MIN
  double failures = 0;                    ///< means over seeds, of a run
  double restarts = 0;
  double membership_changes = 0;
  double ended = 0;
  std::array<double, kRunEnds> ended_by{};
  // Checkpoint intervals, in seconds of training.
  double interval = 0;       ///< in force: whole steps
  double best_interval = 0;  ///< the top of a curve through the goodputs of those tried …
  double best_low = 0;  ///< … and the neighbours that differ from it by less than a standard error
  double best_high = 0;
  double best_goodput = 0;
  double young_interval = 0;
  double daly_interval = 0;
  double daly_goodput = 0;  ///< by his formula, a restart taking `pause`
  double pause = 0;         ///< mean seconds from a failure until training goes on
  Sampled goodput_at_daly;  ///< simulated
  std::vector<ElasticSensitivity> sensitivity;
  std::vector<ElasticRestart> interruptions;  ///< a new node only where MIN < MAX
};

/// Every interval is tried against the same failures. Precondition: a step on each number of nodes takes time.
/// Precondition: why_not_elastic(question) is empty. `progress` hears after each checkpoint interval tried.
ElasticAnswer simulate_elastic(const ElasticQuestion& question, Progress* progress = nullptr);

/// Why a question, its steps included, has no answer or takes too long; empty where neither. Names keys of --elastic.
std::string why_not_elastic(const ElasticQuestion& question);

/// Why the options answer nothing ("last_call_timeout must …"); empty where they do.
std::string why_not_elastic(const ElasticOptions& options);

}  // namespace ddpsim
