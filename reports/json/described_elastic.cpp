#include "described_elastic.hpp"

#include <fmt/format.h>

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const char* meaning_of(RunEnd end) {
  switch (end) {
    case RunEnd::restarts_used_up:
      return "number of jobs that ended because an agent had used up its restarts";
    case RunEnd::store_lost:
      return "number of jobs that ended because the node of the rendezvous store was lost";
    case RunEnd::join_timed_out:
      break;
  }
  return "number of jobs that ended because fewer than min_nodes joined in time";
}

const char* meaning_of(RunPart part) {
  switch (part) {
    case RunPart::training:
      return "training that lasts, in seconds at the speed of max_nodes";
    case RunPart::fewer_nodes:
      return "extra time of training on fewer nodes than max_nodes; below 0 if fewer nodes are "
             "faster";
    case RunPart::checkpoints:
      return "writing checkpoints";
    case RunPart::lost_work:
      return "training that failures undo";
    case RunPart::detection:
      return "from a failure until agents have noticed it and stop their workers";
    case RunPart::stop:
      return "stopping workers";
    case RunPart::rendezvous:
      return "rendezvous of the agents";
    case RunPart::waiting:
      return "waiting for min_nodes during a rendezvous";
    case RunPart::start:
      return "starting processes";
    case RunPart::load:
      return "loading the checkpoint";
    case RunPart::ended:
      break;
  }
  return "from the end of a job until the next one begins";
}

const Described<ElasticAnswer>& described_ends() {
  static const auto described = [] {
    Described<ElasticAnswer> ends("RunEnds", "why jobs of a long run end, and how often",
                                  Layout::line);
    for (const RunEnd end : all_up_to(RunEnd::join_timed_out))
      ends.number(
          name_of(end),
          [end](const ElasticAnswer& of) { return of.ended_by.at(static_cast<std::size_t>(end)); },
          meaning_of(end));
    return ends;
  }();
  return described;
}

const Described<ElasticAnswer>& described_run_parts() {
  static const auto described = [] {
    Described<ElasticAnswer> parts("RunParts", "where the time of a long run goes, in seconds");
    for (const RunPart part : all_up_to(RunPart::ended))
      parts.number(
          name_of(part),
          [part](const ElasticAnswer& of) { return of.parts.at(static_cast<std::size_t>(part)); },
          meaning_of(part));
    return parts;
  }();
  return described;
}

struct RunSize {
  std::int64_t nodes;
  Duration step;
  double trained;
};

std::vector<RunSize> run_sizes(const ElasticAnswer& elastic) {
  std::vector<RunSize> sizes;
  for (std::size_t size = 0; size < elastic.trained.size(); ++size)
    sizes.push_back({elastic.asked.options.min_nodes + static_cast<std::int64_t>(size),
                     elastic.asked.steps[size], elastic.trained[size]});
  return sizes;
}

const Described<RunSize>& described_size() {
  static const auto described =
      Described<RunSize>("RunSize", "a number of nodes that a long run trains on", Layout::line)
          .integer("nodes", &RunSize::nodes, "number of nodes")
          .time("step_us", &RunSize::step, "time of a step on that many nodes")
          .number("trained_s", &RunSize::trained,
                  "seconds of training that lasts on that many nodes");
  return described;
}

const Described<ElasticAnswer>& described_checkpoint_interval() {
  static const auto described =
      Described<ElasticAnswer>("CheckpointInterval",
                               "how long to train from one checkpoint to the next", Layout::line)
          .number("used_s", &ElasticAnswer::interval, "the interval used, in seconds of training")
          .number("best_s", &ElasticAnswer::best_interval,
                  "the best interval in the simulation, in seconds")
          .number("best_low_s", &ElasticAnswer::best_low,
                  "the shortest interval tried that is as good as the best within one standard "
                  "error, in seconds")
          .number("best_high_s", &ElasticAnswer::best_high,
                  "the longest interval tried that is as good as the best within one standard "
                  "error, in seconds")
          .ratio("best_goodput", &ElasticAnswer::best_goodput,
                 "goodput at the best interval, 0 to 1")
          .number("young_s", &ElasticAnswer::young_interval,
                  "the interval by Young's formula, in seconds")
          .number("daly_s", &ElasticAnswer::daly_interval,
                  "the interval by Daly's formula, in seconds");
  return described;
}

const Described<ElasticAnswer>& described_at_daly() {
  static const auto described =
      Described<ElasticAnswer>("AtDaly", "Daly's formula compared with the simulation",
                               Layout::line)
          .ratio("formula", &ElasticAnswer::daly_goodput,
                 "goodput at Daly's interval by his formula, 0 to 1")
          .number("restart_s", &ElasticAnswer::pause,
                  "restart time in the formula, in seconds: the mean interruption")
          .ratio(
              "simulated", [](const ElasticAnswer& of) { return of.goodput_at_daly.mean; },
              "goodput at Daly's interval in the simulation, 0 to 1")
          .ratio(
              "simulated_error",
              [](const ElasticAnswer& of) { return of.goodput_at_daly.standard_error; },
              "standard error of simulated");
  return described;
}

const Described<ElasticRestart>& described_interruption() {
  static const auto described = [] {
    Described<ElasticRestart> interruption(
        "Interruption", "what an interruption of a long run costs, in seconds", Layout::line);
    interruption
        .word("after", &ElasticRestart::after, all_up_to(ElasticRestart::After::new_node),
              "what happened: a process died, a node was lost, or a new node joined")
        .boolean("ends_job", &ElasticRestart::ends_job, "whether the interruption ends the job");
    for (const RunPart part : {RunPart::detection, RunPart::stop, RunPart::rendezvous,
                               RunPart::waiting, RunPart::start, RunPart::load, RunPart::ended})
      interruption.number(
          fmt::format("{}_s", name_of(part)),
          [part](const ElasticRestart& of) { return of.parts.at(static_cast<std::size_t>(part)); },
          meaning_of(part));
    return interruption;
  }();
  return described;
}

auto seconds(RunTime ElasticOptions::*time) {
  return [time](const ElasticOptions& options) { return seconds_of(options.*time); };
}

const Described<ElasticOptions>& described_options() {
  static const auto described =
      Described<ElasticOptions>("ElasticOptions", "the options of an elastic run")
          .integer("max_restarts", &ElasticOptions::max_restarts,
                   "how often an agent may restart its workers, as torchrun takes it")
          .number("monitor_interval_s", seconds(&ElasticOptions::monitor_interval),
                  "seconds between an agent's checks of its workers, as torchrun takes it")
          .number(
              "last_call_timeout_s", seconds(&ElasticOptions::last_call_timeout),
              "seconds that a rendezvous waits for more than min_nodes, as --rdzv-conf takes it")
          .number("join_timeout_s", seconds(&ElasticOptions::join_timeout),
                  "seconds that a rendezvous waits for min_nodes, as --rdzv-conf takes it")
          .number("keep_alive_interval_s", seconds(&ElasticOptions::keep_alive_interval),
                  "seconds between an agent's keep-alives, as --rdzv-conf takes it")
          .integer("keep_alive_max_attempt", &ElasticOptions::keep_alive_max_attempt,
                   "how many keep-alives may be missed, as --rdzv-conf takes it")
          .number("read_timeout_s", seconds(&ElasticOptions::read_timeout),
                  "timeout of the store in seconds, as --rdzv-conf takes it")
          .number("timeout_s", seconds(&ElasticOptions::timeout),
                  "timeout of a collective in seconds, as init_process_group takes it")
          .one_of(
              "store",
              [](const ElasticOptions& of) { return of.store_on_node ? "node" : "external"; },
              {"node", "external"}, "where the rendezvous store is")
          .number("stop_s", seconds(&ElasticOptions::stop), "seconds to stop workers")
          .number("start_s", seconds(&ElasticOptions::start), "seconds to start processes")
          .number("load_s", seconds(&ElasticOptions::load), "seconds to load the checkpoint")
          .number("repair_s", seconds(&ElasticOptions::repair),
                  "mean seconds from the loss of a node until a replacement joins")
          .number("resubmit_s", seconds(&ElasticOptions::resubmit),
                  "seconds from the end of a job until agents run again")
          .number("process_share", &ElasticOptions::process_share,
                  "the share of failures in which a process dies and its node stays")
          .number("checkpoint_s", seconds(&ElasticOptions::checkpoint),
                  "seconds that training stops to write a checkpoint");
  return described;
}

const Described<ElasticSensitivity>& described_assumed() {
  static const auto described =
      Described<ElasticSensitivity>("Assumed", "an assumed option and its effect on goodput",
                                    Layout::line)
          .text("key", &ElasticSensitivity::key, "the option, as --elastic takes it")
          .number("value", &ElasticSensitivity::value, "the assumed value")
          .ratio("goodput_at_half", &ElasticSensitivity::half, "goodput at half the value")
          .ratio("goodput_at_twice", &ElasticSensitivity::twice, "goodput at twice the value");
  return described;
}

}  // namespace

const Described<ElasticAnswer>& described_elastic() {
  const auto itself = [](const ElasticAnswer& of) -> const ElasticAnswer& { return of; };
  static const auto described =
      Described<ElasticAnswer>("Elastic", "a long run whose nodes fail")
          .integer(
              "min_nodes", [](const ElasticAnswer& of) { return of.asked.options.min_nodes; },
              "smallest number of nodes, as given")
          .integer(
              "max_nodes", [](const ElasticAnswer& of) { return of.asked.options.max_nodes; },
              "largest number of nodes, as given")
          .number(
              "node_mtbf_s", [](const ElasticAnswer& of) { return of.asked.node_mtbf_seconds; },
              "mean seconds between failures of a node")
          .number(
              "length_s", [](const ElasticAnswer& of) { return seconds_of(of.length); },
              "length of a run in seconds")
          .integer(
              "seeds", [](const ElasticAnswer& of) { return of.asked.seeds; },
              "how many runs were simulated; the values are their means")
          .integer(
              "seed", [](const ElasticAnswer& of) { return of.asked.seed; },
              "the first of the seeds")
          .ratio(
              "goodput", [](const ElasticAnswer& of) { return of.goodput.mean; },
              "share of training that lasts, 0 to 1: samples trained, relative to max_nodes "
              "without failures and checkpoints")
          .ratio(
              "goodput_deviation", [](const ElasticAnswer& of) { return of.goodput.deviation; },
              "standard deviation of goodput from run to run")
          .ratio(
              "goodput_error", [](const ElasticAnswer& of) { return of.goodput.standard_error; },
              "standard error of goodput")
          .number("failures", &ElasticAnswer::failures, "failures per run")
          .number("restarts", &ElasticAnswer::restarts,
                  "restarts of all workers within a job, per run")
          .number("membership_changes", &ElasticAnswer::membership_changes,
                  "restarts because a node joined, per run")
          .number("ended", &ElasticAnswer::ended, "jobs that ended and were resubmitted, per run")
          .object("ended_by", itself, described_ends(), "why jobs ended")
          .object("parts_s", itself, described_run_parts(),
                  "where the time of a run goes, in seconds that add up to length_s")
          .list("sizes", &run_sizes, described_size(), "steps and training by number of nodes")
          .object("checkpoint_interval", itself, described_checkpoint_interval(),
                  "how long to train from one checkpoint to the next")
          .object("at_daly", itself, described_at_daly(),
                  "Daly's formula compared with the simulation, at his interval")
          .list("interruptions", &ElasticAnswer::interruptions, described_interruption(),
                "what interruptions cost on average")
          .object(
              "options", [](const ElasticAnswer& of) -> const auto& { return of.asked.options; },
              described_options(), "the options of --elastic, and checkpoint_s")
          .list("assumed", &ElasticAnswer::sensitivity, described_assumed(),
                "assumed options and their effect on goodput");
  return described;
}

}  // namespace ddpsim
