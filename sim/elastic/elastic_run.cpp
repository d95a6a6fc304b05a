// Simulates one run: a loop over everything that interrupts the training group.
#include <algorithm>
#include <cmath>

#include "ddpsim/sim/elastic/elastic.hpp"
#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

constexpr RunTime kNever = RunTime::max();

/// Mean of the k-th of n times that are evenly spread over `span`.
RunTime kth_of(RunTime span, std::int64_t k, std::int64_t n) {
  return span * k / (n + 1);
}

class Run {
 public:
  Run(const ElasticOptions& options, const std::vector<RunTime>& steps,
      std::int64_t checkpoint_steps, const std::vector<NodeFailure>& failures, RunTime length)
      : options_(options),
        steps_(steps),
        checkpoint_steps_(checkpoint_steps),
        failures_(failures),
        length_(length),
        back_at_(static_cast<std::size_t>(options.max_nodes)),
        member_(back_at_.size(), true),
        members_(options.max_nodes),
        restarts_left_(back_at_.size(), options.max_restarts) {
    outcome_.trained.resize(steps.size());
  }

  RunOutcome simulated() {
    bool fresh = true;  // the first start costs nothing
    while (now_ < length_) {
      const Interruption interruption =
          run_group(fresh ? RunTime() : options_.start, fresh ? RunTime() : options_.load);
      fresh = false;
      if (now_ >= length_) break;
      bool alive = react(interruption);
      if (alive) ++outcome_.restarts;
      while (!alive && now_ < length_) {
        ++outcome_.ended;
        ++outcome_.ended_by[static_cast<std::size_t>(ended_by_)];
        take_until(now_ + options_.resubmit, RunPart::ended);
        lose_until(now_);
        std::fill(member_.begin(), member_.end(), false);
        members_ = 0;
        host_lost_ = false;
        host_ = -1;
        alive = rendezvous(now_, false);
      }
    }
    while (next_ < failures_.size() && failures_[next_].at < length_) ++next_;
    outcome_.failures = static_cast<std::int64_t>(next_);
    return outcome_;
  }

 private:
  struct Interruption {
    enum class Why { process, lost, came } why = Why::came;
    int node = -1;
  };

  std::size_t place(int node) const { return static_cast<std::size_t>(node); }

  /// Adds the time up to `then`, or to the end of the run, to `part`.
  void take_until(RunTime then, RunPart part) {
    const RunTime end = std::min(then, length_);
    if (end <= now_) return;
    outcome_[part] += end - now_;
    now_ = end;
  }

  /// The next time at which a node is present that is not a member.
  RunTime next_return() const {
    RunTime first = kNever;
    if (members_ == options_.max_nodes) return first;
    for (std::size_t node = 0; node < back_at_.size(); ++node)
      if (!member_[node]) first = std::min(first, std::max(back_at_[node], now_));
    return first;
  }

  /// Handles failures of nodes up to `then` while no group trains. Processes that die are ignored,
  /// because nobody waits for them.
  void lose_until(RunTime then) {
    for (; next_ < failures_.size() && failures_[next_].at <= then; ++next_) {
      const NodeFailure& failure = failures_[next_];
      if (failure.process) continue;
      lose(failure);
    }
  }
  void lose(const NodeFailure& failure) {
    back_at_[place(failure.node)] = failure.at + failure.repair.value_or(options_.repair);
    if (member_[place(failure.node)]) {
      expiry_ =
          std::max(expiry_, failure.at + options_.keep_alive() - options_.keep_alive_interval / 2);
      member_[place(failure.node)] = false;
      --members_;
    }
    if (failure.node == host_ && options_.store_on_node) host_lost_ = true;
  }

  /// Starts, loads and trains until something interrupts the group or the run is over.
  Interruption run_group(RunTime start, RunTime load) {
    const std::int64_t nodes = members_;
    RunTime end = length_;
    Interruption interruption;
    RunTime came = next_return();
    while (next_ < failures_.size()) {
      const NodeFailure& failure = failures_[next_];
      if (failure.at >= std::min(end, came)) break;
      ++next_;
      if (!member_[place(failure.node)]) {  // not a member yet
        if (!failure.process) lose(failure);
        came = next_return();
        continue;
      }
      interruption = {failure.process ? Interruption::Why::process : Interruption::Why::lost,
                      failure.node};
      end = std::max(failure.at, now_);
      break;
    }
    end = std::min(end, came);
    const RunTime began = now_;
    take_until(std::min(began + start, end), RunPart::start);
    take_until(std::min(began + start + load, end), RunPart::load);
    train(nodes, end);
    return interruption;
  }

  void train(std::int64_t nodes, RunTime end) {
    const auto size = static_cast<std::size_t>(nodes - options_.min_nodes);
    const RunTime step = steps_[size];
    const RunTime cycle = step * checkpoint_steps_ + options_.checkpoint;
    const RunTime time = end - now_;
    const std::int64_t cycles = time / cycle;
    std::int64_t kept = cycles * checkpoint_steps_;
    if (end >= length_)  // the run's end loses no work
      kept += std::min<std::int64_t>(checkpoint_steps_, (time - cycles * cycle) / step);
    const RunTime trained = kept * step;
    const double speed = static_cast<double>(nodes) / options_.max_nodes *
                         static_cast<double>(steps_.back().count()) /
                         static_cast<double>(step.count());
    const RunTime as_if = nodes == options_.max_nodes
                              ? trained
                              : RunTime(std::llround(static_cast<double>(trained.count()) * speed));
    outcome_.trained[size] += trained;
    outcome_[RunPart::training] += as_if;
    outcome_[RunPart::fewer_nodes] += trained - as_if;
    outcome_[RunPart::checkpoints] += cycles * options_.checkpoint;
    now_ += trained + cycles * options_.checkpoint;
    take_until(end, RunPart::lost_work);
  }

  bool ended(RunEnd by) {
    ended_by_ = by;
    return false;
  }

  /// Returns false if the job has ended.
  bool react(const Interruption& interruption) {
    const std::int64_t nodes = members_;
    const RunTime look = options_.monitor_interval / 2;
    expiry_ = RunTime();
    switch (interruption.why) {
      case Interruption::Why::came:
        ++outcome_.membership_changes;
        take_until(now_ + kth_of(options_.poll, nodes, nodes) + look, RunPart::detection);
        lose_until(now_);
        return restart(1);
      case Interruption::Why::process:
        return react_to_process(interruption.node, nodes);
      case Interruption::Why::lost:
        break;
    }
    lose(failures_[next_ - 1]);
    if (host_lost_) {
      take_until(now_ + options_.read_timeout, RunPart::detection);
      lose_until(now_);
      return ended(RunEnd::store_lost);
    }
    if (members_ == 0) return rendezvous(now_, false);  // the next node finds nobody
    const RunTime time_out = now_ + options_.timeout;
    // A place becomes free when the lost node is removed, unless one was free before.
    const RunTime free = nodes == options_.max_nodes ? expiry_ : now_;
    const RunTime came = std::max(next_return(), free);
    const bool by_coming = came < time_out;
    take_until((by_coming ? came + kth_of(options_.poll, members_, members_) : time_out) + look,
               RunPart::detection);
    lose_until(now_);
    if (host_lost_) return ended(RunEnd::store_lost);
    if (by_coming)
      ++outcome_.membership_changes;
    else if (!count_restart_of_all())
      return ended(RunEnd::restarts_used_up);
    return restart(1);
  }

  bool react_to_process(int node, std::int64_t nodes) {
    const RunTime look = options_.monitor_interval / 2;
    // If the others' collectives fail at once, each agent has failed workers of its own.
    const bool felt = options_.timeout < options_.poll;
    RunTime noticed = look;
    if (nodes > 1)
      noticed = felt ? options_.timeout + kth_of(options_.monitor_interval, nodes, nodes)
                     : look + kth_of(options_.poll, nodes - 1, nodes - 1) + look;
    const bool may_go_on = felt ? count_restart_of_all() : restarts_left_[place(node)]-- > 0;
    take_until(now_ + (may_go_on ? noticed : look), RunPart::detection);
    lose_until(now_);
    if (!may_go_on) return ended(RunEnd::restarts_used_up);
    if (host_lost_) return ended(RunEnd::store_lost);
    // The other agents see the restart of the first agent only after that agent has stopped its
    // workers and waits.
    return restart(nodes > 1 && !felt ? 2 : 1);
  }

  bool count_restart_of_all() {
    bool may_go_on = true;
    for (std::size_t node = 0; node < member_.size(); ++node)
      if (member_[node] && restarts_left_[node]-- <= 0) may_go_on = false;
    return may_go_on;
  }

  bool restart(int stops) {
    take_until(now_ + stops * options_.stop, RunPart::stop);
    lose_until(now_);
    if (host_lost_) return ended(RunEnd::store_lost);
    const bool by_expiry = expiry_ > now_;
    return rendezvous(std::max(now_, expiry_), by_expiry);
  }

  /// All nodes that are present from `opens` on join a round. Returns false if it was not complete
  /// in time.
  bool rendezvous(RunTime opens, bool by_expiry) {
    // Every node waits for join_timeout, so the first one gives up first. Nobody waits if no node
    // is left.
    RunTime gives_up = members_ > 0 ? now_ + options_.join_timeout : kNever;
    take_until(std::min(opens, gives_up), RunPart::rendezvous);
    lose_until(now_);
    std::optional<RunTime> deadline;  // end of the last call
    for (bool first = true; now_ < length_ && now_ < gives_up; first = false) {
      if (host_lost_) return ended(RunEnd::store_lost);
      const std::int64_t there = join();
      if (there == options_.max_nodes) return complete(first, by_expiry, there);
      if (there > 0 && gives_up == kNever) gives_up = now_ + options_.join_timeout;
      if (there < options_.min_nodes) deadline.reset();
      if (there >= options_.min_nodes && !deadline) {
        RunTime joined{};  // when the MINth node has asked
        if (first)
          joined = by_expiry ? kth_of(options_.poll, options_.min_nodes, there)
                             : kth_of(options_.poll, options_.min_nodes - 1, there - 1);
        deadline = now_ + joined + options_.last_call_timeout;
      }
      const RunTime failure = next_ < failures_.size() ? failures_[next_].at : kNever;
      take_until(std::min({next_return(), failure, deadline.value_or(kNever), gives_up}),
                 deadline ? RunPart::rendezvous : RunPart::waiting);
      lose_until(now_);
      if (deadline && now_ >= *deadline && members_ >= options_.min_nodes) {
        take_until(now_ + kth_of(options_.poll, there, there), RunPart::rendezvous);
        return completed();
      }
    }
    return now_ >= length_ || ended(RunEnd::join_timed_out);
  }

  /// Admits every node that is present but not a member yet, with an agent of its own. Returns the
  /// number of members.
  std::int64_t join() {
    if (members_ == options_.max_nodes) return members_;
    for (std::size_t node = 0; node < member_.size(); ++node)
      if (!member_[node] && back_at_[node] <= now_) {
        member_[node] = true;
        ++members_;
        restarts_left_[node] = options_.max_restarts;
      }
    return members_;
  }

  /// Completes a round with MAX nodes. A node that arrives later completes it at once. At the
  /// opening, it is complete when the last node present has asked. The others learn of it when they
  /// ask again.
  bool complete(bool at_opening, bool by_expiry, std::int64_t there) {
    RunTime heard = kth_of(options_.poll, there - 1, there - 1);
    if (at_opening && there == 1) heard = by_expiry ? kth_of(options_.poll, 1, 1) : RunTime();
    if (at_opening && there > 1)
      heard = options_.poll + (by_expiry ? kth_of(options_.poll, there - 1, there)
                                         : kth_of(options_.poll, there - 2, there - 1));
    take_until(now_ + heard, RunPart::rendezvous);
    return completed();
  }

  /// The first member holds the store if nobody does.
  bool completed() {
    if (host_ < 0)
      host_ = static_cast<int>(std::find(member_.begin(), member_.end(), true) - member_.begin());
    return true;
  }

  const ElasticOptions& options_;
  const std::vector<RunTime>& steps_;
  const std::int64_t checkpoint_steps_;
  const std::vector<NodeFailure>& failures_;
  const RunTime length_;
  RunTime now_{};
  std::size_t next_ = 0;  ///< index into failures
  std::vector<RunTime> back_at_;
  std::vector<bool> member_;  ///< of the group, or of the next round
  std::int64_t members_;
  std::vector<int> restarts_left_;
  int host_ = 0;  ///< of the store
  bool host_lost_ = false;
  /// When the keep-alive of the node lost last in this interruption ends.
  RunTime expiry_{};
  RunEnd ended_by_ = RunEnd::restarts_used_up;  ///< why the last job ended
  RunOutcome outcome_;
};

}  // namespace

const char* name_of(RunPart part) {
  switch (part) {
    case RunPart::training:
      return "training";
    case RunPart::fewer_nodes:
      return "fewer_nodes";
    case RunPart::checkpoints:
      return "checkpoints";
    case RunPart::lost_work:
      return "lost_work";
    case RunPart::detection:
      return "detection";
    case RunPart::stop:
      return "stop";
    case RunPart::rendezvous:
      return "rendezvous";
    case RunPart::waiting:
      return "waiting";
    case RunPart::start:
      return "start";
    case RunPart::load:
      return "load";
    case RunPart::ended:
      return "ended";
  }
  return "";
}

const char* name_of(RunEnd end) {
  switch (end) {
    case RunEnd::restarts_used_up:
      return "restarts_used_up";
    case RunEnd::store_lost:
      return "store_lost";
    case RunEnd::join_timed_out:
      return "join_timed_out";
  }
  return "";
}

RunTime RunOutcome::length() const {
  RunTime sum{};
  for (const RunTime part : parts) sum += part;
  return sum;
}

double RunOutcome::goodput() const {
  return static_cast<double>((*this)[RunPart::training].count()) /
         static_cast<double>(length().count());
}

RunOutcome simulate_run(const ElasticOptions& options, const std::vector<RunTime>& steps,
                        std::int64_t checkpoint_steps, const std::vector<NodeFailure>& failures,
                        RunTime length) {
  DDPSIM_ASSERT(static_cast<int>(steps.size()) == options.max_nodes - options.min_nodes + 1,
                "a step on each of {} to {} nodes", options.min_nodes, options.max_nodes);
  DDPSIM_ASSERT(checkpoint_steps > 0 && length > RunTime(), "a run of steps");
  RunOutcome outcome = Run(options, steps, checkpoint_steps, failures, length).simulated();
  DDPSIM_ASSERT(outcome.length() == length, "the parts of a run add up to it");
  return outcome;
}

}  // namespace ddpsim
