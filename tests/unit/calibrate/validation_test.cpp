// Predictions compared with measurements: values worked out by hand.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/validation_report.hpp"
#include "figure_sources.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;

namespace {

Figures rows(std::initializer_list<std::pair<const char*, double>> named) {
  Figures figures;
  figures.source = "a";
  figures.kind = "a test";
  for (const auto& [name, us] : named) {
    figures.rows.push_back({.name = name, .us = us, .low_us = {}, .high_us = {}, .place = ""});
  }
  return figures;
}

std::string message(const Figures& predicted, const Figures& measured,
                    const std::vector<std::string>& only = {}) {
  try {
    validate(predicted, measured, only);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

const std::string kTune = R"({"schema":"ddpsim.tune/1","torch":"2.8","ranks":8,
  "default":{"bucket_cap_mb":null,"first_bucket_mb":1,"cap_range_mb":[25,25],"iteration_us":1000},
  "recommended":{"action":"set","bucket_cap_mb":60,"first_bucket_mb":null,"cap_range_mb":[50,70]},
  "curve":[
   {"bucket_cap_mb":10,"first_bucket_mb":10,"cap_range_mb":[8,10],"iteration_us":1100,"reachable":true},
   {"bucket_cap_mb":30,"first_bucket_mb":30,"cap_range_mb":[20,30],"iteration_us":1010,"reachable":true},
   {"bucket_cap_mb":70,"first_bucket_mb":70,"cap_range_mb":[50,70],"iteration_us":900,"reachable":true},
   {"bucket_cap_mb":70,"first_bucket_mb":1,"cap_range_mb":[50,70],"iteration_us":1,"reachable":false},
   {"bucket_cap_mb":null,"first_bucket_mb":1,"cap_range_mb":[25,25],"iteration_us":1000,"reachable":true}],
  "confidence":{"interval_percent":[-5,5]}})";

}  // namespace

TEST_CASE("validation: signed errors, and their median, p90 and worst by name") {
  Figures predicted = rows({{"a", 110}, {"b", 95}, {"c", 100}, {"d", 130}, {"only predicted", 1}});
  predicted.rows[0].low_us = 99;
  predicted.rows[0].high_us = 120;
  predicted.rows[1].low_us = 90;
  predicted.rows[1].high_us = 99;
  const Figures measured =
      rows({{"only measured", 5}, {"d", 100}, {"c", 100}, {"b", 100}, {"a", 100}});
  const Validation found = validate(predicted, measured);
  REQUIRE(found.rows.size() == 4);
  CHECK(found.rows[0].name == "d");
  CHECK(found.rows[0].error_percent == doctest::Approx(30));
  CHECK(found.rows[2].error_percent == doctest::Approx(-5));
  CHECK(found.median_abs_error_percent == doctest::Approx(7.5));
  CHECK(found.p90_abs_error_percent == doctest::Approx(30));
  CHECK(found.worst_abs_error_percent == doctest::Approx(30));
  CHECK(found.worst_name == "d");
  CHECK(found.intervals == 2);
  CHECK(found.within_intervals == 1);
  CHECK(validate(predicted, measured, {"a", "b"}).worst_name == "a");
}

TEST_CASE("validation: repeats of one size count once, by their median") {
  const Validation found = validate(rows({{"x", 100}}), rows({{"x", 90}, {"x", 100}, {"x", 500}}));
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].measured == 100);
}

TEST_CASE("validation: nothing measured has no error in percent") {
  const Validation found = validate(rows({{"x", 100}, {"none", 3}, {"zero", 0}}),
                                    rows({{"x", 100}, {"none", 0}, {"zero", 0}}));
  CHECK(found.rows.size() == 1);
  REQUIRE(found.notes.size() == 1);
  CHECK(mentions(found.notes.front(), "none was measured as 0"));
}

TEST_CASE("validation: what cannot be compared is refused") {
  CHECK(mentions(message(rows({{"x", 1}}), rows({{"y", 1}})), "no value in common"));
  CHECK(mentions(message(rows({{"x", 1}}), rows({{"x", 1}}), {"y"}), "--only"));
  CHECK(mentions(message(rows({{"x", 104}}), rows({{"x", 104'000}})), "milliseconds or seconds"));
  Figures eight = rows({{"x", 1}});
  Figures sixteen = eight;
  eight.ranks = 8;
  sixteen.ranks = 16;
  CHECK(mentions(message(eight, sixteen), "has 16 ranks"));
}

TEST_CASE("validation: a tuning curve against measured caps") {
  const Figures predicted = figures_of_document(kTune, "tune.json");
  const Figures measured = figures_of_cap_table(
      "bucket_cap_mb,iteration_ms\ndefault,1.0\n9,1.2\n25,1.01\n65,0.95\n55.5,0.9\n200,0.8\n",
      "caps.csv");
  const Validation found = validate(predicted, measured);
  REQUIRE(found.rows.size() == 5);  // 200 is not on the curve
  CHECK(found.rows[0].name == "bucket_cap_mb default");
  CHECK(found.rows[1].predicted == 1100);
  CHECK(found.rows[2].predicted == 1010);
  // Never the one that no version lets a user set.
  CHECK(found.rows[3].predicted == 900);
  CHECK(found.rows[4].predicted == 900);
  CHECK(found.notes == std::vector<std::string>{"1 of 6 measured caps are not on the curve"});
  REQUIRE(found.caps);
  CHECK(found.caps->chosen == "bucket_cap_mb=60");
  CHECK(found.caps->measured_best == "bucket_cap_mb=200");
  // 60 gives the same buckets as 65 and 55.5, so the first of them that was measured represents it.
  REQUIRE(found.caps->regret_percent);
  CHECK(*found.caps->regret_percent == doctest::Approx(100 * (0.95 - 0.8) / 0.8));
  // Among ten pairs, default and 25 differ only by 1 %. 65 and 55.5 differ, but the prediction
  // shows no difference.
  CHECK(found.caps->pairs == 9);
  CHECK(found.caps->right_sign == 8);
  CHECK(found.intervals == 5);
}

TEST_CASE("validation: the PyTorch version decides which caps give the same buckets") {
  // Up to 2.4 the first bucket stays at 1 MiB, whatever cap is passed.
  const CapFigure old = cap_figure(25, {}, {2, 4});
  CHECK(old.first == Bytes(1 << 20));
  CHECK_FALSE(old.first_as_cap);
  const CapFigure now = cap_figure(25, {}, {2, 8});
  CHECK(now.first_as_cap);
}

TEST_CASE("validation: values of every document of ours") {
  const files::TemporaryFolder folder;
  SUBCASE("result") {
    const auto path = folder.file("r.json", R"({"schema":"ddpsim.result/1","ranks":2,
      "iteration_us":100,"forward_us":40,"buckets":[{"start_us":50,"end_us":70}],
      "confidence":{"interval_percent":[-10,20]}})");
    const Figures figures = read_figures(path.string());
    REQUIRE(figures.rows.size() == 3);
    CHECK(figures.rows[0].low_us == doctest::Approx(90));
    CHECK(figures.rows[0].high_us == doctest::Approx(120));
    CHECK(figures.rows[2].name == "bucket 0 all_reduce");
    CHECK(figures.rows[2].us == 20);
    CHECK(validate(figures, read_figures("125us")).rows[0].error_percent == doctest::Approx(-20));
  }
  SUBCASE("timeline") {
    const auto path = folder.file("t.json", R"({"schema":"ddpsim.timeline/1","ranks":[{"rank":0,
      "spans":[{"track":"host","name":"launch","bucket":0,"start_us":0,"end_us":1},
               {"track":"compute","name":"forward","bucket":null,"start_us":10,"end_us":30},
               {"track":"compute","name":"backward","bucket":null,"start_us":30,"end_us":80},
               {"track":"communication","name":"all_reduce","bucket":0,"start_us":60,"end_us":85},
               {"track":"communication","name":"all_reduce","bucket":1,"start_us":85,"end_us":95},
               {"track":"compute","name":"optimizer","bucket":null,"start_us":99,"end_us":104}]}]})");
    std::map<std::string, double> us;
    for (const NamedFigure& row : read_figures(path.string()).rows) us[row.name] = row.us;
    CHECK(us == std::map<std::string, double>{{"forward", 20},
                                              {"backward", 50},
                                              {"optimizer", 5},
                                              {"exposed_communication", 15},
                                              {"gpu_span", 94},
                                              {"bucket 0 all_reduce", 25},
                                              {"bucket 1 all_reduce", 10}});
  }
  SUBCASE("all-reduce table against a log") {
    const auto table = folder.file("a.json", R"({"schema":"ddpsim.allreduce/1","ranks":4,
      "rows":[{"size_bytes":1048576,"time_us":44,"low_us":30,"high_us":60}]})");
    const auto log = folder.file("l.txt", "1048576 262144 float sum -1 40.00 26.21 39.32 0\n");
    const Validation found = validate(read_figures(table.string()), read_figures(log.string()));
    REQUIRE(found.rows.size() == 1);
    CHECK(found.rows[0].error_percent == doctest::Approx(10));
    CHECK(found.rows[0].within_interval == true);
  }
  SUBCASE("what ddpsim-real measured") {
    const auto path = folder.file("m.json", R"({"schema":"ddpsim.measurement/1","ranks":4,
      "setup":{"hosts":"a a b b","backend":"nccl","torch_rules":"2.4"},
      "configurations":[
        {"name":"cap25","bucket_cap_mb":25,"gradient_as_bucket_view":false,
         "iteration_us":{"median":1000,"p10":990,"p90":1010},
         "buckets":[{"index":0,"bytes":4096,"start_us":{"median":10},"last_arrival_us":{"median":20},
                     "end_us":{"median":60}}]},
        {"name":"cap25+views","bucket_cap_mb":25,"gradient_as_bucket_view":true,
         "iteration_us":{"median":900},"buckets":[]}],
      "all_reduces":[{"size_bytes":1048576,"time_us":{"median":40.5,"p10":40,"p90":41}}]})");
    const Figures figures = read_figures(path.string());
    REQUIRE(figures.caps.size() == 1);
    CHECK(figures.caps[0].figure.us == 1000);
    CHECK(figures.caps[0].first == Bytes(1 << 20));  // 2.4 keeps the first bucket at 1 MiB
    REQUIRE(figures.rows.size() == 1);
    CHECK(figures.rows[0].name == "all_reduce 1048576 B");
    CHECK(figures.rows[0].us == 40.5);
    // Its CSV says the same.
    const Figures table = figures_of_cap_table(
        "# ranks: 4\nname,bucket_cap_mb,gradient_as_bucket_view,iteration_us,torch\n"
        "cap25,25,false,1000.000,2.4\ncap25+views,25,true,900,2.4\nall_reduce:1048576,,,40.500,\n",
        "m.csv");
    CHECK(validate(figures, table).rows.size() == 2);
    CHECK(validate(figures, table).worst_abs_error_percent == 0);
  }
  SUBCASE("a profiler trace") {
    const auto trace = folder.file("trace.json", files::tiny_trace());
    const Figures figures = read_figures(trace.string());
    CHECK(figures.kind == "a recorded step");
    CHECK(figures.rows.size() >= 3);
  }
}

TEST_CASE("validation: the document") {
  Figures predicted = rows({{"x", 110}});
  predicted.rows[0].low_us = 90;
  predicted.rows[0].high_us = 120;
  const Figures measured = rows({{"x", 100}});
  const Validation found = validate(predicted, measured);
  const ErrorLimit limit{.percent = 5, .statistic = ErrorLimit::Statistic::median};
  CHECK(exceeds(found, limit));
  CHECK_FALSE(exceeds(found, {.percent = 10.1}));
  const auto json = nlohmann::json::parse(validation_json(found, predicted, measured, limit));
  CHECK(json["schema"] == "ddpsim.validation/1");
  CHECK(json["rows"][0] == nlohmann::json::parse(
                               R"({"name":"x","unit":"us","measured":100,"predicted":110,
                                   "error_percent":10,"within_interval":true})"));
  CHECK(json["median_abs_error_percent"] == 10);
  CHECK(json["worst_name"] == "x");
  CHECK(json["limit"]["exceeded"] == true);
  CHECK(validation_csv(found) == "name,unit,measured,predicted,error_percent\nx,us,100,110,10\n");
  const std::string text = validation_text(found, predicted, measured, limit, {.width = 200});
  CHECK(mentions(text, "worst 10.0 % (x)"));
  CHECK(mentions(text, "above the 5 % allowed"));
  CHECK(mentions(text, "1 of 1 measurements lie within"));
}
