#include "elastic_json.hpp"

#include <string>

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_outcome(JsonWriter& json, const ElasticAnswer& elastic) {
  json.key("min_nodes").integer(elastic.asked.options.min_nodes);
  json.key("max_nodes").integer(elastic.asked.options.max_nodes);
  json.key("node_mtbf_s").number(elastic.asked.node_mtbf_seconds);
  json.key("length_s").number(seconds_of(elastic.length));
  json.key("seeds").integer(elastic.asked.seeds);
  json.key("seed").count(elastic.asked.seed);
  json.key("goodput").ratio(elastic.goodput.mean);
  json.key("goodput_deviation").ratio(elastic.goodput.deviation);
  json.key("goodput_error").ratio(elastic.goodput.standard_error);
  json.key("failures").number(elastic.failures);
  json.key("restarts").number(elastic.restarts);
  json.key("membership_changes").number(elastic.membership_changes);
  json.key("ended").number(elastic.ended);
  json.key("ended_by").begin_object(Layout::line);
  for (std::size_t end = 0; end < kRunEnds; ++end)
    json.key(name_of(static_cast<RunEnd>(end))).number(elastic.ended_by[end]);
  json.end_object();
  json.key("parts_s").begin_object();
  for (std::size_t part = 0; part < kRunParts; ++part)
    json.key(name_of(static_cast<RunPart>(part))).number(elastic.parts[part]);
  json.end_object();
}

void write_sizes(JsonWriter& json, const ElasticAnswer& elastic) {
  json.key("sizes").begin_array();
  for (std::size_t size = 0; size < elastic.trained.size(); ++size) {
    json.begin_object(Layout::line);
    json.key("nodes").integer(elastic.asked.options.min_nodes + static_cast<std::int64_t>(size));
    json.key("step_us").time(elastic.asked.steps[size]);
    json.key("trained_s").number(elastic.trained[size]);
    json.end_object();
  }
  json.end_array();
}

void write_intervals(JsonWriter& json, const ElasticAnswer& elastic) {
  json.key("checkpoint_interval").begin_object(Layout::line);
  json.key("used_s").number(elastic.interval);
  json.key("best_s").number(elastic.best_interval);
  json.key("best_low_s").number(elastic.best_low);
  json.key("best_high_s").number(elastic.best_high);
  json.key("best_goodput").ratio(elastic.best_goodput);
  json.key("young_s").number(elastic.young_interval);
  json.key("daly_s").number(elastic.daly_interval);
  json.end_object();
  json.key("at_daly").begin_object(Layout::line);
  json.key("formula").ratio(elastic.daly_goodput);
  json.key("restart_s").number(elastic.pause);
  json.key("simulated").ratio(elastic.goodput_at_daly.mean);
  json.key("simulated_error").ratio(elastic.goodput_at_daly.standard_error);
  json.end_object();
}

void write_interruptions(JsonWriter& json, const ElasticAnswer& elastic) {
  json.key("interruptions").begin_array();
  for (const ElasticRestart& restart : elastic.interruptions) {
    json.begin_object(Layout::line);
    json.key("after").string(name_of(restart.after));
    json.key("ends_job").boolean(restart.ends_job);
    for (const RunPart part : {RunPart::detection, RunPart::stop, RunPart::rendezvous,
                               RunPart::waiting, RunPart::start, RunPart::load, RunPart::ended})
      json.key(std::string(name_of(part)) + "_s")
          .number(restart.parts[static_cast<std::size_t>(part)]);
    json.end_object();
  }
  json.end_array();
}

void write_options(JsonWriter& json, const ElasticOptions& options) {
  json.key("options").begin_object();
  json.key("max_restarts").integer(options.max_restarts);
  json.key("monitor_interval_s").number(seconds_of(options.monitor_interval));
  json.key("last_call_timeout_s").number(seconds_of(options.last_call_timeout));
  json.key("join_timeout_s").number(seconds_of(options.join_timeout));
  json.key("keep_alive_interval_s").number(seconds_of(options.keep_alive_interval));
  json.key("keep_alive_max_attempt").integer(options.keep_alive_max_attempt);
  json.key("read_timeout_s").number(seconds_of(options.read_timeout));
  json.key("timeout_s").number(seconds_of(options.timeout));
  json.key("store").string(options.store_on_node ? "node" : "external");
  json.key("stop_s").number(seconds_of(options.stop));
  json.key("start_s").number(seconds_of(options.start));
  json.key("load_s").number(seconds_of(options.load));
  json.key("repair_s").number(seconds_of(options.repair));
  json.key("resubmit_s").number(seconds_of(options.resubmit));
  json.key("process_share").number(options.process_share);
  json.key("checkpoint_s").number(seconds_of(options.checkpoint));
  json.end_object();
}

void write_assumed(JsonWriter& json, const ElasticAnswer& elastic) {
  json.key("assumed").begin_array();
  for (const ElasticSensitivity& one : elastic.sensitivity) {
    json.begin_object(Layout::line);
    json.key("key").string(one.key);
    json.key("value").number(one.value);
    json.key("goodput_at_half").ratio(one.half);
    json.key("goodput_at_twice").ratio(one.twice);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_elastic(JsonWriter& json, const std::optional<ElasticAnswer>& elastic) {
  if (!elastic) return;
  json.key("elastic").begin_object();
  write_outcome(json, *elastic);
  write_sizes(json, *elastic);
  write_intervals(json, *elastic);
  write_interruptions(json, *elastic);
  write_options(json, elastic->asked.options);
  write_assumed(json, *elastic);
  json.end_object();
}

}  // namespace ddpsim
