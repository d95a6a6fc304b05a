// The whole text, JSON and CSV of a validation.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ddpsim/reports/validation_report.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using Json = nlohmann::json;

namespace {

/// Errors of 10, -20 and 50 %. The statistics are arbitrary values.
Validation validation() {
  return {.rows = {{.name = "iteration",
                    .measured = 10000,
                    .predicted = 11000,
                    .error_percent = 10,
                    .within_interval = true},
                   {.name = "all_reduce 8 B",
                    .measured = 25.5,
                    .predicted = 20.4,
                    .error_percent = -20,
                    .within_interval = false},
                   {.name = "bucket 0 all_reduce",
                    .measured = 400,
                    .predicted = 600,
                    .error_percent = 50,
                    .within_interval = {}}},
          .median_abs_error_percent = 21,
          .p90_abs_error_percent = 42,
          .worst_abs_error_percent = 51,
          .worst_name = "bucket 0 all_reduce",
          .intervals = 2,
          .within_intervals = 1,
          .caps = std::nullopt,
          .notes = {}};
}

Figures figures(const char* source, const char* kind, std::vector<std::string> warnings) {
  Figures figures;
  figures.source = source;
  figures.kind = kind;
  figures.warnings = std::move(warnings);
  return figures;
}

const Figures kPredicted = figures("p.json", "a result", {});
const Figures kMeasured = figures("m.json", "a timeline", {});

std::string page(const Validation& validation,
                 const std::optional<ErrorLimit>& limit = std::nullopt) {
  return validation_text(validation, kPredicted, kMeasured, limit, {.width = 200});
}

}  // namespace

TEST_CASE("validation page: errors first, then each value measured and predicted") {
  Validation found = validation();
  found.notes = {"a note"};
  const std::string text = validation_text(
      found, figures("p.json", "a result", {"of p"}), figures("m.json", "a timeline", {"of m"}),
      ErrorLimit{.percent = 42.5, .statistic = ErrorLimit::Statistic::p90}, {.width = 200});
  CHECK(
      text ==
      R"(Error over 3 values: median 21.0 %, p90 42.0 %, worst 51.0 % (bucket 0 all_reduce). The p90 is within the 42.5 % allowed.
Predicted: p.json, a result. Measured: m.json, a timeline.

  value                measured (us)  predicted (us)    error  in interval
  iteration                 10000           11000     +10.0 %  yes
  all_reduce 8 B               25.50           20.40  -20.0 %  no
  bucket 0 all_reduce         400.0           600.0   +50.0 %

1 of 2 measurements lie within the predicted interval.
note: a note
warning: of p
warning: of m
)");
}

TEST_CASE("validation page: wrapped notes and warnings are indented below their text") {
  Validation found = validation();
  found.notes = {"a note that goes on for more than a line"};
  found.intervals = 0;
  const std::string text = validation_text(
      found, figures("p.json", "a result", {"of p, which goes on for more than a line"}), kMeasured,
      std::nullopt, {.width = 40});
  CHECK(text.starts_with(
      "Error over 3 values: median 21.0 %, p90\n42.0 %, worst 51.0 % (bucket 0\nall_reduce).\n"
      "Predicted: p.json, a result. Measured:\nm.json, a timeline.\n\n"));
  CHECK(
      text.ends_with("\n\nnote: a note that goes on for more than\n      a line\n"
                     "warning: of p, which goes on for more\n         than a line\n"));
  found.caps = CapValidation{.chosen = "", .measured_best = "default", .pairs = 6, .right_sign = 5};
  CHECK(validation_text(found, kPredicted, kMeasured, std::nullopt, {.width = 40})
            .find("\nBest measured cap: default. The\nprediction names the faster cap in 5 of\n6 "
                  "pairs that differ by more than 2 %.\n") != std::string::npos);
}

TEST_CASE("validation page: decimals as in nccl-tests, fewer for large numbers") {
  Validation found = validation();
  found.rows.resize(1);
  const auto shown = [&](double us) {
    found.rows[0].measured = us;
    const std::string text = page(found);
    const std::size_t at = text.find("\n  iteration") + 12;
    const std::size_t begin = text.find_first_not_of(' ', at);
    return text.substr(begin, text.find(' ', begin) - begin);
  };
  CHECK(shown(99.99) == "99.99");
  CHECK(shown(100) == "100.0");
  CHECK(shown(9999.9) == "9999.9");
  CHECK(shown(10000) == "10000");
}

TEST_CASE("validation page: intervals, limit and caps are left out if there are none") {
  Validation found = validation();
  found.intervals = 0;
  found.rows.resize(1);
  const std::string text = page(found);
  CHECK(text.starts_with(
      "Error over 1 value: median 21.0 %, p90 42.0 %, worst 51.0 % (bucket 0 all_reduce).\n"));
  CHECK_FALSE(mentions(text, "lie within"));
  CHECK_FALSE(mentions(text, "hosen"));
}

TEST_CASE("validation page: an error equal to the limit is within it, for each statistic") {
  using Statistic = ErrorLimit::Statistic;
  CHECK(error_percent(validation(), Statistic::median) == 21);
  CHECK(error_percent(validation(), Statistic::p90) == 42);
  CHECK(error_percent(validation(), Statistic::worst) == 51);
  CHECK(name_of(Statistic::median) == "median");
  CHECK(name_of(Statistic::p90) == "p90");
  CHECK(name_of(Statistic::worst) == "worst");
  CHECK_FALSE(exceeds(validation(), {.percent = 51}));
  CHECK(exceeds(validation(), {.percent = 50.9}));
  CHECK(mentions(page(validation(), ErrorLimit{.percent = 51}),
                 " The worst is within the 51 % allowed.\n"));
  CHECK(mentions(page(validation(), ErrorLimit{.percent = 20, .statistic = Statistic::median}),
                 " The median is above the 20 % allowed.\n"));
}

TEST_CASE("validation page: the chosen cap was measured, was not measured, or there is none") {
  Validation found = validation();
  found.caps = CapValidation{.chosen = "bucket_cap_mb=50",
                             .measured_best = "default",
                             .regret_percent = 1.25,
                             .pairs = 6,
                             .right_sign = 5};
  CHECK(mentions(
      page(found),
      "\nChosen cap: bucket_cap_mb=50; best measured cap: default; the chosen one costs 1.25 % "
      "more. The prediction names the faster cap in 5 of 6 pairs that differ by more than 2 %.\n"));
  found.caps->pairs = 0;
  found.caps->regret_percent.reset();
  CHECK(mentions(
      page(found),
      "\nChosen cap: bucket_cap_mb=50, which was not measured; best measured cap: default.\n"));
  found.caps->chosen.clear();
  CHECK(mentions(page(found), "\nBest measured cap: default.\n"));
}

TEST_CASE("validation document: every key") {
  Validation found = validation();
  found.notes = {"a note"};
  found.caps = CapValidation{.chosen = "bucket_cap_mb=50",
                             .measured_best = "default",
                             .regret_percent = 1.25,
                             .pairs = 6,
                             .right_sign = 5};
  const ErrorLimit limit{.percent = 42.5, .statistic = ErrorLimit::Statistic::p90};
  CHECK(Json::parse(validation_json(found, figures("p.json", "a result", {"of p"}),
                                    figures("m.json", "a timeline", {"of m"}), limit)) ==
        Json::parse(R"json({
    "schema": "ddpsim.validation/1", "predicted": "p.json", "measured": "m.json",
    "rows": [{"name": "iteration", "unit": "us", "measured": 10000, "predicted": 11000, "error_percent": 10,
              "within_interval": true},
             {"name": "all_reduce 8 B", "unit": "us", "measured": 25.5, "predicted": 20.4, "error_percent": -20,
              "within_interval": false},
             {"name": "bucket 0 all_reduce", "unit": "us", "measured": 400, "predicted": 600, "error_percent": 50}],
    "median_abs_error_percent": 21, "p90_abs_error_percent": 42, "worst_abs_error_percent": 51,
    "worst_name": "bucket 0 all_reduce", "intervals": {"given": 2, "hold": 1},
    "caps": {"chosen": "bucket_cap_mb=50", "measured_best": "default", "regret_percent": 1.25,
             "differing_pairs": 6, "right_sign": 5},
    "limit": {"max_error_percent": 42.5, "statistic": "p90", "exceeded": false}, "own_calibration": false,
    "notes": ["a note"], "warnings": ["of p", "of m"]})json"));
}

TEST_CASE("validation document: a cap not chosen or not measured, and no limit") {
  Validation found = validation();
  Json doc = Json::parse(validation_json(found, kPredicted, kMeasured, std::nullopt));
  CHECK_FALSE(doc.contains("caps"));
  CHECK_FALSE(doc.contains("limit"));
  found.caps = CapValidation{.chosen = "", .measured_best = "default", .regret_percent = {}};
  doc = Json::parse(validation_json(found, kPredicted, kMeasured, ErrorLimit{.percent = 50}));
  CHECK(doc["caps"]["chosen"].is_null());
  CHECK(doc["caps"]["regret_percent"].is_null());
  CHECK(doc["limit"] ==
        Json{{"max_error_percent", 50}, {"statistic", "worst"}, {"exceeded", true}});
}

TEST_CASE("validation CSV: a row per value") {
  CHECK(validation_csv(validation()) ==
        "name,unit,measured,predicted,error_percent\niteration,us,10000,11000,10\n"
        "all_reduce 8 B,us,25.5,20.4,-20\nbucket 0 all_reduce,us,400,600,50\n");
}
