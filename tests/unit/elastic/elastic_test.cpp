// Long runs under torchrun: scripted failures by hand, Daly's formula in the limit where it holds,
// and laws.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"

using namespace ddpsim;
using namespace std::chrono_literals;

namespace {

/// Agents that look all the time and notice at once. A step takes a second on any number of nodes.
/// A checkpoint of 2 s follows every four steps.
ElasticOptions prompt(int min, int max) {
  return {.min_nodes = min,
          .max_nodes = max,
          .max_restarts = 1000,
          .monitor_interval = 0s,
          .last_call_timeout = 30s,
          .timeout = 100s,
          .store_on_node = false,
          .poll = 0s,
          .stop = 1s,
          .start = 10s,
          .load = 5s,
          .repair = 300s,
          .resubmit = 50s,
          .checkpoint = 2s};
}

std::vector<RunTime> steps_of_a_second(const ElasticOptions& options) {
  return std::vector<RunTime>(static_cast<std::size_t>(options.max_nodes - options.min_nodes + 1),
                              1s);
}

RunOutcome run_training(const ElasticOptions& options, const std::vector<NodeFailure>& failures,
                        RunTime length) {
  return simulate_run(options, steps_of_a_second(options), 4, failures, length);
}

RunTime half(RunTime time) {
  return time / 2;
}

}  // namespace

TEST_CASE("elastic: without failures only checkpoints cost time") {
  const RunOutcome outcome = run_training(prompt(2, 2), {}, 600s);  // a hundred times 4 s and 2 s
  CHECK(outcome[RunPart::training] == 400s);
  CHECK(outcome[RunPart::checkpoints] == 200s);
  CHECK(outcome.goodput() == doctest::Approx(4.0 / 6));
  CHECK(outcome.failures == 0);
  // The last step is unfinished.
  CHECK(run_training(prompt(2, 2), {}, 603500ms)[RunPart::lost_work] == 500ms);
}

TEST_CASE("elastic: when a process dies, all restart from the checkpoint") {
  // There are 3 cycles of 6 s, then 3.5 s that are lost. The agents of two nodes stop their workers
  // one after the other.
  const RunOutcome outcome =
      run_training(prompt(2, 2), {{.at = 21500ms, .node = 1, .process = true}}, 68500ms);
  CHECK(outcome[RunPart::lost_work] == 3500ms);
  CHECK(outcome[RunPart::detection] == 0s);
  CHECK(outcome[RunPart::stop] == 2s);
  CHECK(outcome[RunPart::rendezvous] == 0s);  // both are present at once
  CHECK(outcome[RunPart::start] == 10s);
  CHECK(outcome[RunPart::load] == 5s);
  CHECK(outcome[RunPart::training] == 12s + 20s);  // 30 s left are five cycles
  CHECK(outcome[RunPart::checkpoints] == 6s + 10s);
  CHECK(outcome.restarts == 1);
  CHECK(outcome.membership_changes == 0);
  CHECK(outcome.ended == 0);
}

TEST_CASE("elastic: how long agents take to notice, on average") {
  ElasticOptions options = prompt(2, 2);
  options.monitor_interval = 100ms;
  options.poll = 1s;
  const std::vector<NodeFailure> failures = {{.at = 21500ms, .node = 1, .process = true}};
  // Its own agent looks after 50 ms. The other agent's state is half a second old, and it takes 50
  // ms more.
  const RunOutcome outcome = run_training(options, failures, 600s);
  CHECK(outcome[RunPart::detection] == 50ms + 500ms + 50ms);
  // The last one to leave opens the round. The other asks within a second and completes it. The
  // last one asks again after one second.
  CHECK(outcome[RunPart::rendezvous] == 1s);
  // If a collective fails at once (gloo), every agent sees it by itself. The later of two looks
  // counts.
  options.timeout = 0s;
  CHECK(run_training(options, failures, 600s)[RunPart::detection] / 1us == 66'666);
  CHECK(run_training(options, failures, 600s)[RunPart::stop] == 1s);
}

TEST_CASE("elastic: a lost node hangs the others until their time-out, then the last call passes") {
  // One of three nodes is lost at 21.5 s and back at 321.5 s. MIN is 2.
  ElasticOptions options = prompt(2, 3);
  const std::vector<NodeFailure> failures = {{.at = 21500ms, .node = 2}};
  const RunOutcome outcome = run_training(options, failures, 321500ms);
  CHECK(outcome[RunPart::lost_work] == 3500ms);
  CHECK(outcome[RunPart::detection] == 100s);
  CHECK(outcome[RunPart::stop] == 1s);
  // Two joined at once, and the third is waited for.
  CHECK(outcome[RunPart::rendezvous] == 30s);
  CHECK(outcome[RunPart::start] == 10s);
  CHECK(outcome[RunPart::load] == 5s);
  // Two nodes train for the remaining 154 s: 25 cycles, and four steps that count because the run
  // ends.
  CHECK(outcome.trained[0] == 100s + 4s);
  CHECK(outcome[RunPart::training] + outcome[RunPart::fewer_nodes] == 12s + 104s);
  CHECK(outcome[RunPart::fewer_nodes] / 1ms == 34'666);  // a third of 104 s

  SUBCASE("its replacement's arrival restarts all once more, and unsaved work is lost") {
    const RunOutcome after = run_training(options, failures, 321500ms + 1s + 15s + 60s);
    CHECK(after.membership_changes == 1);
    CHECK(after.restarts == 2);
    CHECK(after[RunPart::detection] == 100s);  // a new node takes one look
    CHECK(after[RunPart::stop] == 2s);
    CHECK(after[RunPart::rendezvous] == 30s);  // MAX nodes: no last call
    CHECK(after[RunPart::lost_work] == 3500ms + 4s);
    CHECK(after.trained[1] == 12s + 40s);
  }
  SUBCASE("a replacement that comes before the time-out ends the waiting") {
    options.repair = 40s;
    const RunOutcome after = run_training(options, failures, 600s);
    CHECK(after[RunPart::detection] == 40s);
    CHECK(after[RunPart::rendezvous] == 0s);
    CHECK(after.restarts == 1);
  }
  SUBCASE("but not before the lost node's keep-alive has expired") {
    options.repair = 3s;
    // Three beats of 5 s, the last of them 2.5 s old. Nobody waits while there are three
    // participants.
    CHECK(run_training(options, failures, 600s)[RunPart::detection] == 12500ms);
  }
  SUBCASE("a time-out at once is followed by waiting for the keep-alive") {
    options.timeout = 0s;
    const RunOutcome after = run_training(options, failures, 300s);
    CHECK(after[RunPart::detection] == 0s);
    CHECK(after[RunPart::rendezvous] == 12500ms - 1s + 30s);
  }
}

TEST_CASE("elastic: fewer than MIN nodes wait for another, at most for the join time-out") {
  ElasticOptions options = prompt(3, 3);
  const std::vector<NodeFailure> failures = {{.at = 21500ms, .node = 0}};
  RunOutcome outcome = run_training(options, failures, 1000s);
  CHECK(outcome[RunPart::waiting] == 300s - 100s - 1s);
  CHECK(outcome.ended == 0);
  options.join_timeout = 150s;
  outcome = run_training(options, failures, 1000s);
  // They wait from 122.5 s on; the node is back at 322.5 s.
  CHECK(outcome[RunPart::waiting] == 150s);
  CHECK(outcome[RunPart::ended] == 50s);
  CHECK(outcome.ended == 1);
  CHECK(outcome.ended_by[static_cast<std::size_t>(RunEnd::join_timed_out)] == 1);
}

TEST_CASE("elastic: reasons for which a job ends") {
  ElasticOptions options = prompt(1, 2);
  const std::vector<NodeFailure> died = {{.at = 21500ms, .node = 1, .process = true}};
  const std::vector<NodeFailure> lost = {{.at = 21500ms, .node = 1}};
  SUBCASE("torchrun's default, no restart at all") {
    options.max_restarts = 0;
    CHECK(run_training(options, died, 600s).ended == 1);
    CHECK(run_training(options, died, 600s).ended_by[0] == 1);
    CHECK(run_training(options, died, 600s).restarts == 0);
    CHECK(run_training(options, died, 600s)[RunPart::ended] == 50s);
    // The time-out counts as the survivor's failure.
    CHECK(run_training(options, lost, 300s).ended == 1);
    // A node that arrives counts for nobody, and if it is in time nobody fails.
    options.repair = 40s;
    CHECK(run_training(options, lost, 600s).ended == 0);
    CHECK(run_training(options, lost, 600s).restarts == 1);
  }
  SUBCASE("the second failure of one agent, not one of each") {
    options.max_restarts = 1;
    const NodeFailure second{.at = 200s, .node = 1, .process = true};
    const NodeFailure other{.at = 200s, .node = 0, .process = true};
    CHECK(run_training(options, {died[0], other}, 600s).ended == 0);
    CHECK(run_training(options, {died[0], second}, 600s).ended == 1);
    // Another node replaced it in time between the failures, so its agent has restarts of its own.
    options.repair = 40s;
    const NodeFailure replaced{.at = 100s, .node = 1};
    CHECK(run_training(options, {died[0], replaced, second}, 600s).ended == 0);
  }
  SUBCASE("the node that holds the store") {
    options.store_on_node = true;
    const std::vector<NodeFailure> host = {{.at = 21500ms, .node = 0}};
    CHECK(run_training(options, lost, 600s).ended == 0);
    const RunOutcome outcome = run_training(options, host, 300s);
    CHECK(outcome.ended == 1);
    CHECK(outcome.ended_by[static_cast<std::size_t>(RunEnd::store_lost)] == 1);
    CHECK(outcome[RunPart::detection] == 60s);
    options.store_on_node = false;
    CHECK(run_training(options, host, 600s).ended == 0);
  }
}

TEST_CASE("elastic: a failure while workers start or load is one more restart") {
  const RunOutcome outcome =
      run_training(prompt(1, 1),
                   {{.at = 21500ms, .node = 0, .process = true},
                    {.at = 21500ms + 1s + 4s, .node = 0, .process = true},
                    {.at = 21500ms + 1s + 4s + 500ms, .node = 0, .process = true},
                    {.at = 21500ms + 1s + 4s + 1s + 12s, .node = 0, .process = true}},
                   600s);
  CHECK(outcome[RunPart::start] == 4s + 10s + 10s);
  CHECK(outcome[RunPart::load] == 2s + 5s);
  CHECK(outcome[RunPart::stop] == 3s);
  CHECK(outcome.restarts == 3);  // stopped workers cannot die
  CHECK(outcome.failures == 4);
}

TEST_CASE("elastic: failures are drawn by seed and node, at the requested rate") {
  ElasticOptions options = prompt(1, 8);
  options.process_share = 0.25;
  const RunTime length = 4'000'000s;
  const std::vector<NodeFailure> all = draw_failures(options, 8000, length, 7);
  CHECK(all == draw_failures(options, 8000, length, 7));
  CHECK(all != draw_failures(options, 8000, length, 8));
  // A node is up for 8000 s on average, and away for 300 s after three of four failures.
  const double expected = 8 * 4e6 / (8000 + 0.75 * 300);
  CHECK(static_cast<double>(all.size()) == doctest::Approx(expected).epsilon(0.05));
  double died = 0;
  std::vector<RunTime> back(8);
  RunTime before{};
  for (const NodeFailure& failure : all) {
    died += failure.process;
    CHECK(failure.at >= before);
    CHECK(failure.at >= back[static_cast<std::size_t>(failure.node)]);
    before = failure.at;
    if (!failure.process)
      back[static_cast<std::size_t>(failure.node)] = failure.at + *failure.repair;
  }
  CHECK(died / static_cast<double>(all.size()) == doctest::Approx(0.25).epsilon(0.08));
}

TEST_CASE("elastic: where Daly's formula holds, simulation and formula agree") {
  // There is only lost work, and a restart of fixed length. MIN = MAX, nodes stay, and failures are
  // noticed at once.
  ElasticOptions options = prompt(4, 4);
  options.process_share = 1;
  options.stop = options.load = 0s;
  options.last_call_timeout = 0s;
  const double mtbf = 4000;  // of the job
  double chi = 0;
  int points = 0;
  for (const double checkpoint : {20.0, 100.0})
    for (const double restart : {0.0, 200.0, 1500.0})
      for (const double every : {0.5, 1.0, 2.0}) {  // of Daly's interval
        options.checkpoint = RunTime(std::llround(checkpoint * 1e9));
        options.start = RunTime(std::llround(restart * 1e9));
        const Failures failures{.node_mtbf_hours = mtbf * 4 / 3600,
                                .restart_seconds = restart,
                                .checkpoint_seconds = checkpoint};
        const double interval = goodput(failures, 4).checkpoint_every_seconds * every;
        const ElasticAnswer answer =
            simulate_elastic({.options = options,
                              .steps = {Duration::milliseconds(100)},
                              .node_mtbf_seconds = 4 * mtbf,
                              .checkpoint_interval = RunTime(std::llround(interval * 1e9)),
                              .seeds = 24,
                              .seed = 3});
        const double formula =
            answer.interval /
            (mtbf * std::exp(restart / mtbf) * std::expm1((answer.interval + checkpoint) / mtbf));
        CAPTURE(checkpoint);
        CAPTURE(restart);
        CAPTURE(every);
        const double off = (answer.goodput.mean - formula) / answer.goodput.standard_error;
        CHECK(std::abs(off) < 4);
        CHECK(answer.goodput.standard_error < 0.01);
        chi += off * off;
        ++points;
        if (every == 1.0) {
          // Daly's formula, and his optimum.
          CHECK(answer.daly_interval == doctest::Approx(interval));
          CHECK(answer.best_interval == doctest::Approx(interval).epsilon(0.1));
          CHECK(std::abs(answer.best_goodput - answer.goodput_at_daly.mean) < 0.002);
        }
      }
  MESSAGE("mean squared deviation in standard errors: ", chi / points);
  CHECK(chi / points < 2.5);
}

TEST_CASE(
    "elastic: parts add up, rarer failures and faster restarts do not harm, seeds are repeatable") {
  ElasticQuestion question{.options = prompt(2, 6),
                           .steps = {},
                           .node_mtbf_seconds = 30'000,
                           .length = 500'000s,
                           .seeds = 8,
                           .assumed = {"start", "repair", "process_share"}};
  question.options.monitor_interval = 100ms;
  question.options.poll = 1s;
  question.options.store_on_node = true;
  for (const int nodes : {2, 3, 4, 5, 6})
    question.steps.push_back(Duration::milliseconds(1000 + 20 * nodes));
  const ElasticAnswer answer = simulate_elastic(question);
  double sum = 0;
  for (const double part : answer.parts) sum += part;
  CHECK(sum == doctest::Approx(500'000));
  CHECK(answer.goodput.mean * sum ==
        doctest::Approx(answer.parts[static_cast<std::size_t>(RunPart::training)]));
  CHECK(answer.best_low <= answer.best_interval);
  CHECK(answer.best_interval <= answer.best_high);
  CHECK(answer.goodput.mean == answer.best_goodput);
  REQUIRE(answer.sensitivity.size() == 3);
  CHECK(answer.sensitivity[0].half > answer.sensitivity[0].twice);  // slower starts
  CHECK(answer.sensitivity[1].half > answer.sensitivity[1].twice);  // slower repairs
  const ElasticAnswer again = simulate_elastic(question);
  CHECK(again.goodput.mean == answer.goodput.mean);
  CHECK(again.parts == answer.parts);
  for (const double rarer : {60'000.0, 240'000.0}) {
    question.node_mtbf_seconds = rarer;
    CHECK(simulate_elastic(question).goodput.mean > answer.goodput.mean);
  }
}

TEST_CASE("elastic: a run adds up even if no node is present for a while") {
  ElasticOptions options = prompt(1, 3);
  options.poll = 1s;
  options.monitor_interval = 100ms;
  options.store_on_node = true;
  options.process_share = 0.3;
  options.max_restarts = 1;
  std::int64_t ended = 0;
  std::int64_t restarts = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const RunTime length = 20'000s + half(777ms) * static_cast<int>(seed);
    const std::vector<NodeFailure> failures = draw_failures(options, 500, length, seed);
    const RunOutcome outcome = run_training(options, failures, length);
    CHECK(outcome.length() == length);
    for (std::size_t part = 0; part < kRunParts; ++part)
      if (static_cast<RunPart>(part) != RunPart::fewer_nodes) CHECK(outcome.parts[part] >= 0s);
    CHECK(outcome.failures == static_cast<std::int64_t>(failures.size()));
    CHECK(outcome.ended == outcome.ended_by[0] + outcome.ended_by[1] + outcome.ended_by[2]);
    ended += outcome.ended;
    restarts += outcome.restarts;
  }
  CHECK(ended > 60);
  CHECK(restarts > 60);
}

TEST_CASE("elastic: a longer repair moves the best checkpoint interval little, and one way") {
  // With 6 to 8 nodes, a node that comes back restarts all nodes, as a failure does. Repairs of
  // fixed length made nodes come back in step with checkpoints. Then the best interval jumped from
  // 62 to 35 minutes and on to 64.
  ElasticQuestion question{
      .options = {.min_nodes = 6, .max_nodes = 8, .max_restarts = 1000, .store_on_node = false},
      .steps = std::vector<Duration>(3, Duration::milliseconds(900)),
      .node_mtbf_seconds = 500 * 3600};
  question.options.checkpoint = 30s;
  std::vector<double> best;
  double young = 0;
  for (int minutes = 40; minutes <= 70; minutes += 5) {
    question.options.repair = std::chrono::minutes(minutes);
    const ElasticAnswer answer = simulate_elastic(question);
    best.push_back(answer.best_interval);
    young = answer.young_interval;
  }
  const auto [least, most] = std::minmax_element(best.begin(), best.end());
  CHECK(*most < 1.15 * *least);
  // With longer repairs, more returns interrupt training that a checkpoint would have kept.
  for (std::size_t i = 1; i < best.size(); ++i) CHECK(best[i] < 1.02 * best[i - 1]);
  // Young's sqrt(2 * checkpoint * M). M is between the mean time of failures alone and that of
  // failures and returns, which is half as long.
  CHECK(young == doctest::Approx(std::sqrt(2 * 30 * 500 * 3600.0 / 8)));
  CHECK(*most < young);
  CHECK(*least > young / std::sqrt(2.0));
}

TEST_CASE("elastic: repairs are drawn around their mean, and failures stay where they are") {
  ElasticOptions options = prompt(1, 4);
  options.process_share = 0;
  options.repair = 300s;
  const std::vector<NodeFailure> all = draw_failures(options, 8000, 20'000'000s, 7);
  double sum = 0;
  std::size_t longer = 0;
  for (const NodeFailure& failure : all) {
    REQUIRE(failure.repair);
    sum += static_cast<double>(failure.repair->count()) / 1e9;
    if (*failure.repair > 300s) ++longer;
  }
  const auto count = static_cast<double>(all.size());
  CHECK(sum / count == doctest::Approx(300).epsilon(0.05));
  CHECK(static_cast<double>(longer) / count == doctest::Approx(std::exp(-1)).epsilon(0.05));
  options.repair = 0s;
  const std::vector<NodeFailure> prompt_ones = draw_failures(options, 8000, 20'000'000s, 7);
  CHECK(prompt_ones.front().at == all.front().at);
}
