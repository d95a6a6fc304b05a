// Every document of ours as figures: another value in each field, so that each is known by its name.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "ddpsim/calibrate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "figure_sources.hpp"
#include "trace_files.hpp"
#include "worlds.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Named = std::map<std::string, double>;

Named named(const Figures& figures) {
  Named us;
  for (const NamedFigure& row : figures.rows) us[row.name] = row.us;
  return us;
}

std::string message(const Figures& predicted, const Figures& measured) {
  try {
    validate(predicted, measured);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Spans of rank 0: track, name, bucket, start, end.
std::string timeline(const std::string& spans) {
  return R"({"schema":"ddpsim.timeline/1","ranks":[{"rank":0,"spans":[)" + spans + "]}]}";
}

std::string span(const std::string& track, const std::string& name, const std::string& bucket,
                 double start, double end) {
  return fmt::format(R"({{"track":"{}","name":"{}","bucket":{},"start_us":{},"end_us":{}}})", track,
                     name, bucket, start, end);
}

/// A measured curve of caps, each of its own bucketing.
Figures caps(const std::vector<double>& us) {
  Figures figures;
  figures.source = "caps";
  for (std::size_t k = 0; k < us.size(); ++k) {
    CapFigure cap = cap_figure(static_cast<double>(k + 1), {}, {2, 8});
    cap.figure.us = us[k];
    figures.caps.push_back(cap);
  }
  return figures;
}

}  // namespace

TEST_CASE("figures: each time of a result by its name, the interval around the iteration") {
  const Figures figures = figures_of_document(R"({"schema":"ddpsim.result/1","ranks":6,
    "iteration_us":1,"forward_us":2,"backward_us":3,"backward_compute_us":4,"communication_us":5,
    "wait_us":6,"exposed_communication_us":7,"finalize_us":8,"optimizer_us":9,"stall_us":-10,
    "copies_in_us":99,"buckets":[{"start_us":20,"end_us":31},{"start_us":40,"end_us":52}],
    "confidence":{"interval_percent":[-10,50]}})",
                                              "r.json");
  CHECK(named(figures) == Named{{"iteration", 1},
                                {"forward", 2},
                                {"backward", 3},
                                {"backward_compute", 4},
                                {"communication", 5},
                                {"wait", 6},
                                {"exposed_communication", 7},
                                {"finalize", 8},
                                {"optimizer", 9},
                                {"stall", -10},
                                {"bucket 0 all_reduce", 11},
                                {"bucket 1 all_reduce", 12}});
  CHECK(figures.ranks == 6);
  CHECK(figures.source == "r.json");
  CHECK(figures.rows[0].low_us == doctest::Approx(0.9));
  CHECK(figures.rows[0].high_us == doctest::Approx(1.5));
  for (std::size_t k = 1; k < figures.rows.size(); ++k)
    CHECK_FALSE(figures.rows[k].low_us.has_value());
  CHECK(figures.rows[0].place == "/iteration_us");
  CHECK(figures.rows[11].place == "/buckets/1");
}

TEST_CASE("figures: each field of an all-reduce table") {
  const Figures figures = figures_of_document(R"({"schema":"ddpsim.allreduce/1","ranks":8,"nodes":2,
    "gpus_per_node":4,"gpu":"A100","rows":[{"size_bytes":64,"time_us":10,"low_us":7,"high_us":15},
                                           {"size_bytes":128,"time_us":11}]})",
                                              "a.json");
  CHECK(named(figures) == Named{{"all_reduce 64 B", 10}, {"all_reduce 128 B", 11}});
  CHECK(figures.rows[0].low_us == 7);
  CHECK(figures.rows[0].high_us == 15);
  CHECK_FALSE(figures.rows[1].low_us.has_value());
  CHECK(figures.ranks == 8);
  CHECK(figures.nodes == 2);
  CHECK(figures.gpus_per_node == 4);
  CHECK(figures.gpu == "A100");
}

TEST_CASE("figures: each time of a recorded step") {
  Workload workload;
  workload.iteration = 1_us;
  workload.forward = 2_us;
  workload.backward = Backward{.duration = 3_us, .ready = {}};
  workload.optimizer = 4_us;
  workload.recorded_with.exposed = 5_us;
  workload.recorded_with.finalize = 6_us;
  CHECK(named(figures_of_workload(workload, "w")) == Named{{"iteration", 1},
                                                           {"forward", 2},
                                                           {"backward_compute", 3},
                                                           {"optimizer", 4},
                                                           {"exposed_communication", 5},
                                                           {"finalize", 6}});
  CHECK(figures_of_workload({}, "w").rows.empty());
}

TEST_CASE("figures: a tuning curve, its default once, what no version reaches left out") {
  const auto read = [](const std::string& recommended) {
    return figures_of_document(R"({"schema":"ddpsim.tune/1","ranks":4,"torch":"2.4",
      "default":{"bucket_cap_mb":null,"first_bucket_mb":1,"cap_range_mb":[20,30],"iteration_us":100},
      "recommended":)" + recommended +
                                   R"(,
      "curve":[{"bucket_cap_mb":null,"first_bucket_mb":1,"cap_range_mb":[20,30],"iteration_us":100},
       {"bucket_cap_mb":null,"first_bucket_mb":2,"cap_range_mb":[20,30],"iteration_us":101},
       {"bucket_cap_mb":5,"first_bucket_mb":5,"cap_range_mb":[4,6],"iteration_us":102},
       {"bucket_cap_mb":7,"first_bucket_mb":1,"cap_range_mb":[6,8],"iteration_us":103},
       {"bucket_cap_mb":9,"first_bucket_mb":1,"cap_range_mb":[8,9],"iteration_us":104,
        "reachable":false}],
      "confidence":{"interval_percent":[-20,10]}})",
                               "t.json");
  };
  const Figures figures = read(R"({"action":"set","bucket_cap_mb":7,"first_bucket_mb":3})");
  REQUIRE(figures.caps.size() == 4);
  CHECK(figures.caps[0].figure.us == 100);
  CHECK_FALSE(figures.caps[0].cap_mb.has_value());
  CHECK(figures.caps[0].figure.name == "bucket_cap_mb default");
  CHECK(figures.caps[0].figure.low_us == doctest::Approx(80));
  CHECK(figures.caps[0].figure.high_us == doctest::Approx(110));
  CHECK(figures.caps[1].figure.us == 101);  // another first bucket is another point
  CHECK(figures.caps[1].first == 2_MiB);
  CHECK(figures.caps[2].cap_mb == 5);
  CHECK(figures.caps[2].first_as_cap);
  CHECK(figures.caps[2].low == 4_MiB);
  CHECK(figures.caps[2].high == 6_MiB);
  CHECK_FALSE(figures.caps[3].first_as_cap);
  CHECK(figures.caps[3].figure.name == "bucket_cap_mb=7");
  REQUIRE(figures.advised);
  CHECK(figures.advised->cap_mb == 7);
  CHECK(figures.advised->first == 3_MiB);
  CHECK(read(R"({"action":"keep default"})").advised->figure.us == 100);
  CHECK_FALSE(read(R"({"action":"measure"})").advised.has_value());
}

TEST_CASE("figures: a timeline's windows, by what is in them") {
  const Figures figures =
      figures_of_document(timeline(span("host", "launch", "0", 0, 900) + "," +
                                   span("compute", "forward", "null", 10, 30) + "," +
                                   span("compute", "backward", "null", 30, 50) + "," +
                                   span("compute", "copy into bucket", "0", 50, 54) + "," +
                                   span("communication", "all_reduce", "1", 70, 90) + "," +
                                   span("communication", "all_reduce", "0", 40, 75) + "," +
                                   span("communication", "all_reduce", "2", 95, 130) + "," +
                                   span("communication", "broadcast", "null", 5, 8) + "," +
                                   span("compute", "optimizer", "null", 120, 126) + "," +
                                   span("compute", "optimizer", "null", 110, 113)),
                          "t.json");
  // Exposed from 54 to 75 and on to 90, then 95 to the optimizer's start at 110.
  CHECK(named(figures) == Named{{"gpu_span", 125},  // 5 to 130, the host left out
                                {"forward", 25},    // 5 to 30
                                {"backward", 24},
                                {"optimizer", 9},
                                {"exposed_communication", 51},
                                {"bucket 0 all_reduce", 35},
                                {"bucket 1 all_reduce", 20},
                                {"bucket 2 all_reduce", 35}});
}

TEST_CASE("figures: a timeline without backward or optimizer says what is left") {
  const auto names = [](const std::string& spans) {
    return named(figures_of_document(timeline(spans), "t.json"));
  };
  CHECK(names(span("compute", "forward", "null", 1, 4)) == Named{{"gpu_span", 3}});
  CHECK(names(span("compute", "backward", "null", 1, 4)) ==
        Named{{"gpu_span", 3}, {"forward", 0}, {"backward", 3}});
  CHECK(names(span("host", "launch", "0", 1, 4)).empty());
  CHECK_THROWS_AS(names(span("compute", "forward", "null", 4, 3.9)), InputError);
  CHECK_THROWS_AS(figures_of_document(R"({"schema":"ddpsim.timeline/1","ranks":[]})", "t"),
                  InputError);
}

TEST_CASE("figures: the parts of a measurement of one configuration, medians all of them") {
  const std::string one = R"({"name":"a","bucket_cap_mb":25,"iteration_us":{"median":1,"p10":99},
    "forward_us":{"median":2},"backward_us":{"median":3},"communication_us":{"median":4},
    "exposed_communication_us":{"median":5},"finalize_us":{"median":6},"optimizer_us":{"median":7},
    "buckets":[{"bytes":8,"start_us":{"median":10},"end_us":{"median":18}},
               {"bytes":8,"start_us":{"median":20},"end_us":{"median":29}}]})";
  const std::string two = R"(,{"name":"b","bucket_cap_mb":null,"iteration_us":{"median":11}})";
  const auto read = [](const std::string& configurations) {
    return figures_of_document(
        R"({"schema":"ddpsim.measurement/1","ranks":4,"configurations":[)" + configurations + "]}",
        "m.json");
  };
  CHECK(named(read(one)) == Named{{"iteration", 1},
                                  {"forward", 2},
                                  {"backward", 3},
                                  {"communication", 4},
                                  {"exposed_communication", 5},
                                  {"finalize", 6},
                                  {"optimizer", 7},
                                  {"bucket 0 all_reduce", 8},
                                  {"bucket 1 all_reduce", 9}});
  const Figures both = read(one + two);
  CHECK(both.rows.empty());  // several configurations are a curve
  REQUIRE(both.caps.size() == 2);
  CHECK(both.caps[0].cap_mb == 25);
  CHECK(both.caps[0].figure.us == 1);
  CHECK_FALSE(both.caps[1].cap_mb.has_value());
  CHECK(both.caps[1].figure.us == 11);
  const std::string views = R"({"name":"v","bucket_cap_mb":25,"gradient_as_bucket_view":true,
                                "iteration_us":{"median":12}})";
  CHECK(read(views).caps.size() == 1);  // where no other stands for its cap
  CHECK(read(views + "," + one).caps.size() == 1);
}

TEST_CASE("figures: a table of caps in either unit, first buckets and versions beside") {
  const auto read = [](const std::string& text) {
    return figures_of_cap_table(text, "c.csv").caps;
  };
  CHECK(read("bucket_cap_mb,iteration_us\n25,104200\n")[0].figure.us == 104'200);
  CHECK(read("bucket_cap_mb,iteration_ms\n25,104.2\n")[0].figure.us == doctest::Approx(104'200));
  const auto caps = read(
      "iteration_us,torch,first_bucket_mb,bucket_cap_mb\n"
      "# a comment\n\n7,2.4,,25\n8,2.4,2,25\n9,2.8,,25\n10,2.8,,default\n");
  REQUIRE(caps.size() == 4);
  CHECK(caps[0].figure.us == 7);
  CHECK(caps[0].first == 1_MiB);
  CHECK(caps[0].high == 25_MiB);
  CHECK(caps[0].figure.place == "line 4");
  CHECK(caps[1].first == 2_MiB);
  CHECK(caps[2].first == 25_MiB);
  CHECK(caps[2].first_as_cap);
  CHECK(caps[3].figure.name == "bucket_cap_mb default");
  CHECK_FALSE(caps[3].first_as_cap);
  for (const char* bad :
       {"bucket_cap_mb\n1\n", "bucket_cap_mb,iteration_us,iteration_ms\n1,2,3\n",
        "bucket_cap_mb,iteration_us\n1,0\n", "bucket_cap_mb,iteration_us\n1,-2\n",
        "bucket_cap_mb,iteration_us\n-1,2\n", "bucket_cap_mb,iteration_us\n1\n",
        "bucket_cap_mb,iteration_us\n1,2,3\n", "bucket_cap_mb,iteration_us\n",
        "bucket_cap_mb,iteration_us,torch\n1,2,new\n", "bucket_cap_mb,iteration_us\n1e10,2\n",
        "name,bucket_cap_mb,iteration_us\nall_reduce:x,,2\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(bad), InputError);
  }
}

TEST_CASE("figures: an argument is a file, a log at a scale, or a time") {
  const files::TemporaryFolder folder;
  const auto step = read_figures("104.5ms");
  CHECK(named(step) == Named{{"iteration", 104'500}});
  CHECK_THROWS_AS(read_figures("0ms"), InputError);
  CHECK_THROWS_AS(read_figures("104"), InputError);  // no unit
  const std::string log = folder.file("l.csv", "size_bytes,time_us\n64,10\n128,11\n").string();
  const Figures read = read_figures(log + "@2x4");
  CHECK(named(read) == Named{{"all_reduce 64 B", 10}, {"all_reduce 128 B", 11}});
  CHECK(read.ranks == 8);
  CHECK(read.nodes == 2);
  CHECK(read.gpus_per_node == 4);
  CHECK_FALSE(read_figures(log).ranks.has_value());
  const std::string workload =
      folder
          .file("w.json", R"({"schema":"ddpsim.workload/1","forward":{"duration_us":7},
              "parameters":[{"name":"a","shape":[1],"dtype":"int8"}]})")
          .string();
  CHECK(named(read_figures(workload)) == Named{{"forward", 7}});
}

TEST_CASE("validation: caps that differ by two in a hundred or less decide nothing") {
  const auto compared = [](double second, double predicted) {
    return validate(caps({100, predicted}), caps({100, second})).caps.value();
  };
  CHECK(compared(102, 110).pairs == 0);
  CHECK(compared(102.1, 110).pairs == 1);
  CHECK(compared(102.1, 110).right_sign == 1);
  CHECK(compared(102.1, 90).right_sign == 0);
  CHECK(compared(102.1, 100).right_sign == 0);  // no difference predicted is no sign
  CHECK(compared(97, 90).right_sign == 1);
  CHECK(compared(97, 110).right_sign == 0);
}

TEST_CASE("validation: regret is what the advised cap costs over the best one measured") {
  Figures predicted = caps({100, 90, 95});
  predicted.advised = predicted.caps[1];
  const CapValidation found = validate(predicted, caps({80, 100, 90})).caps.value();
  CHECK(found.measured_best == "bucket_cap_mb=1");
  CHECK(found.chosen == "bucket_cap_mb=2");
  CHECK(*found.regret_percent == doctest::Approx(25));
  predicted.advised = cap_figure(64, {}, {2, 8});  // nobody measured it
  CHECK_FALSE(validate(predicted, caps({80, 100, 90})).caps->regret_percent.has_value());
  predicted.advised.reset();
  CHECK(validate(predicted, caps({80, 100, 90})).caps->chosen.empty());
}

TEST_CASE("validation: caps bucket alike where their ranges touch and their first buckets agree") {
  const auto compared = [](const CapFigure& one, const CapFigure& other) {
    Figures predicted = caps({});
    Figures measured = caps({});
    predicted.caps = {one};
    measured.caps = {other};
    predicted.caps[0].figure.us = measured.caps[0].figure.us = 100;
    return message(predicted, measured).empty();
  };
  CapFigure cap;
  cap.cap_mb = 5;
  cap.first = 1_MiB;
  cap.low = 4_MiB;
  cap.high = 6_MiB;
  CapFigure next = cap;
  next.low = 6_MiB;
  next.high = 8_MiB;
  CHECK(compared(cap, next));
  CHECK(compared(next, cap));
  next.low = Bytes(6 * 1'048'576 + 1);
  CHECK_FALSE(compared(cap, next));
  CHECK_FALSE(compared(next, cap));
  CapFigure other_first = cap;
  other_first.first = 2_MiB;
  CHECK_FALSE(compared(cap, other_first));
  CapFigure as_cap = cap;
  as_cap.first_as_cap = true;
  CHECK_FALSE(compared(cap, as_cap));
  CapFigure as_other_cap = other_first;
  as_other_cap.first_as_cap = true;
  CHECK(compared(as_cap, as_other_cap));  // the first limit goes with the cap
  CapFigure standard = cap;
  standard.cap_mb.reset();
  CHECK_FALSE(compared(cap, standard));
  CHECK(compared(standard, standard));
}

TEST_CASE("validation: other ranks, nodes, GPUs and kinds are told") {
  const auto figures = [](int ranks, int nodes, const std::string& gpu) {
    Figures of;
    of.source = "of " + std::to_string(nodes);
    of.kind = "a kind";
    of.rows = {{.name = "x", .us = 1, .low_us = {}, .high_us = {}, .place = ""}};
    of.ranks = ranks;
    of.nodes = nodes;
    of.gpus_per_node = ranks / nodes;
    of.gpu = gpu;
    return of;
  };
  CHECK(has(message(figures(8, 2, ""), figures(8, 4, "")),
            "of 4: is of 4 x 2 GPUs, of 2 of 2 x 4 GPUs"));
  CHECK(has(message(figures(8, 2, ""), figures(4, 2, "")), "is of 4 ranks, of 2 of 8"));
  const auto notes = [&](const std::string& predicted, const std::string& measured) {
    return validate(figures(8, 2, predicted), figures(8, 2, measured)).notes;
  };
  CHECK(notes("V100", "A100") ==
        std::vector<std::string>{"predicted for V100, measured on A100: is "
                                 "this the cluster?"});
  CHECK(notes("V100", "V100").empty());
  CHECK(notes("V100", "").empty());
  Figures many = figures(8, 2, "");
  many.rows.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    many.rows.push_back({.name = name, .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  CHECK(has(message(many, figures(8, 2, "")), "One has x; the other a, b, c, d and 2 more"));
  Figures span_of_gpu = figures(8, 2, "");
  span_of_gpu.rows.push_back(
      {.name = "gpu_span", .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  Figures step = figures(8, 2, "");
  step.rows.push_back({.name = "iteration", .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  for (const auto& [one, other] : {std::pair(step, span_of_gpu), std::pair(span_of_gpu, step)})
    CHECK(has(validate(one, other).notes.at(0), "iteration is not compared"));
  CHECK(validate(step, step).notes.empty());
}
