// Reads every document of ours as values. Each field has another value, so that its name identifies
// it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "figure_sources.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using NamedFigures = std::map<std::string, double>;

NamedFigures named(const Figures& figures) {
  NamedFigures us;
  for (const NamedFigure& row : figures.rows) us[row.name] = row.us;
  return us;
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

}  // namespace

TEST_CASE("values: each time of a result has its name, and the iteration its interval") {
  const Figures figures = figures_of_document(R"({"schema":"ddpsim.result/1","ranks":6,
    "iteration_us":1,"forward_us":2,"backward_us":3,"backward_compute_us":4,"communication_us":5,
    "wait_us":6,"exposed_communication_us":7,"finalize_us":8,"optimizer_us":9,"stall_us":-10,
    "copies_in_us":99,"buckets":[{"start_us":20,"end_us":31},{"start_us":40,"end_us":52}],
    "confidence":{"interval_percent":[-10,50]}})",
                                              "r.json");
  CHECK(named(figures) == NamedFigures{{"iteration", 1},
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

TEST_CASE("values: each field of an all-reduce table") {
  const Figures figures = figures_of_document(R"({"schema":"ddpsim.allreduce/1","ranks":8,"nodes":2,
    "gpus_per_node":4,"gpu":"A100","rows":[{"size_bytes":64,"time_us":10,"low_us":7,"high_us":15},
                                           {"size_bytes":128,"time_us":11}]})",
                                              "a.json");
  CHECK(named(figures) == NamedFigures{{"all_reduce 64 B", 10}, {"all_reduce 128 B", 11}});
  CHECK(figures.rows[0].low_us == 7);
  CHECK(figures.rows[0].high_us == 15);
  CHECK_FALSE(figures.rows[1].low_us.has_value());
  CHECK(figures.ranks == 8);
  CHECK(figures.nodes == 2);
  CHECK(figures.gpus_per_node == 4);
  CHECK(figures.gpu == "A100");
}

TEST_CASE("values: a table of another collective is not one of all-reduces") {
  const auto read = [](const std::string& collective) {
    return figures_of_document(R"({"schema":"ddpsim.allreduce/1","ranks":8,"collective":")" +
                                   collective + R"(","rows":[{"size_bytes":128,"time_us":11}]})",
                               "a.json");
  };
  CHECK(named(read("all-gather")) == NamedFigures{{"all-gather 128 B", 11}});
  CHECK_THROWS_AS(read("all_gather"), InputError);
}

TEST_CASE("values: each time of a recorded step") {
  Workload workload;
  workload.iteration = 1_us;
  workload.forward = 2_us;
  workload.backward = Backward{.duration = 3_us, .ready = {}};
  workload.optimizer = 4_us;
  workload.recorded_with.exposed = 5_us;
  workload.recorded_with.finalize = 6_us;
  CHECK(named(figures_of_workload(workload, "w")) == NamedFigures{{"iteration", 1},
                                                                  {"forward", 2},
                                                                  {"backward_compute", 3},
                                                                  {"optimizer", 4},
                                                                  {"exposed_communication", 5},
                                                                  {"finalize", 6}});
  CHECK(figures_of_workload(workload, "w").warnings.empty());
  workload.recorded_with.collectives = {
      {.bytes = Bytes(4), .launch = {}, .start = {}, .duration = 7_us}};
  CHECK(mentions(figures_of_workload(workload, "w").warnings, "its all-reduces include waits"));
  CHECK(figures_of_workload({}, "w").rows.empty());
}

TEST_CASE("values: a tuning curve has its default once and leaves out unreachable points") {
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

TEST_CASE("values: a timeline's windows are named by their content") {
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
  // Exposed from 54 to 75 and up to 90, then from 95 to the optimizer's start at 110.
  CHECK(named(figures) == NamedFigures{{"gpu_span", 125},  // 5 to 130, without the host
                                       {"forward", 25},    // 5 to 30
                                       {"backward", 24},
                                       {"optimizer", 9},
                                       {"exposed_communication", 51},
                                       {"bucket 0 all_reduce", 35},
                                       {"bucket 1 all_reduce", 20},
                                       {"bucket 2 all_reduce", 35}});
}

TEST_CASE("values: a timeline without backward or optimizer gives the rest") {
  const auto names = [](const std::string& spans) {
    return named(figures_of_document(timeline(spans), "t.json"));
  };
  CHECK(names(span("compute", "forward", "null", 1, 4)) == NamedFigures{{"gpu_span", 3}});
  CHECK(names(span("compute", "backward", "null", 1, 4)) ==
        NamedFigures{{"gpu_span", 3}, {"forward", 0}, {"backward", 3}});
  CHECK(names(span("host", "launch", "0", 1, 4)).empty());
  CHECK_THROWS_AS(names(span("compute", "forward", "null", 4, 3.9)), InputError);
  CHECK_THROWS_AS(figures_of_document(R"({"schema":"ddpsim.timeline/1","ranks":[]})", "t"),
                  InputError);
}

TEST_CASE("values: the parts of a single measured configuration are medians") {
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
  CHECK(named(read(one)) == NamedFigures{{"iteration", 1},
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
  CHECK(read(views).caps.size() == 1);  // if no other represents its cap
  CHECK(read(views + "," + one).caps.size() == 1);
}

TEST_CASE("values: a table of caps in either unit, with first buckets and versions") {
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

TEST_CASE("values: an argument is a file, a log at a job shape, or a time") {
  const files::TemporaryFolder folder;
  const auto step = read_figures("104.5ms");
  CHECK(named(step) == NamedFigures{{"iteration", 104'500}});
  CHECK_THROWS_AS(read_figures("0ms"), InputError);
  CHECK_THROWS_AS(read_figures("104"), InputError);  // no unit
  const std::string log = folder.file("l.csv", "size_bytes,time_us\n64,10\n128,11\n").string();
  const Figures read = read_figures(log + "@2x4");
  CHECK(named(read) == NamedFigures{{"all_reduce 64 B", 10}, {"all_reduce 128 B", 11}});
  CHECK(read.ranks == 8);
  CHECK(read.nodes == 2);
  CHECK(read.gpus_per_node == 4);
  CHECK_FALSE(read_figures(log).ranks.has_value());
  const std::string workload =
      folder
          .file("w.json", R"({"schema":"ddpsim.workload/1","forward":{"duration_us":7},
              "parameters":[{"name":"a","shape":[1],"dtype":"int8"}]})")
          .string();
  CHECK(named(read_figures(workload)) == NamedFigures{{"forward", 7}});
}
