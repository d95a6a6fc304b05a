// Predictions compared with measurements, on both sides of each rule: caps with the same buckets,
// differences that count, other ranks and GPUs.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "figure_sources.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

std::string refusal_of_figures(const Figures& predicted, const Figures& measured) {
  return complaint_of([&] { validate(predicted, measured); });
}

/// A measured curve of caps that all give different buckets.
Figures measured_caps(const std::vector<double>& us) {
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

TEST_CASE("validation: caps that differ by 2 % or less decide nothing") {
  const auto compared = [](double second, double predicted) {
    return validate(measured_caps({100, predicted}), measured_caps({100, second})).caps.value();
  };
  CHECK(compared(102, 110).pairs == 0);
  CHECK(compared(102.1, 110).pairs == 1);
  CHECK(compared(102.1, 110).right_sign == 1);
  CHECK(compared(102.1, 90).right_sign == 0);
  CHECK(compared(102.1, 100).right_sign == 0);  // a predicted difference of zero has no sign
  CHECK(compared(97, 90).right_sign == 1);
  CHECK(compared(97, 110).right_sign == 0);
}

TEST_CASE("validation: regret is the cost of the recommended cap over the best measured one") {
  Figures predicted = measured_caps({100, 90, 95});
  predicted.advised = predicted.caps[1];
  const CapValidation found = validate(predicted, measured_caps({80, 100, 90})).caps.value();
  CHECK(found.measured_best == "bucket_cap_mb=1");
  CHECK(found.chosen == "bucket_cap_mb=2");
  CHECK(*found.regret_percent == doctest::Approx(25));
  predicted.advised = cap_figure(64, {}, {2, 8});  // nobody measured it
  CHECK_FALSE(validate(predicted, measured_caps({80, 100, 90})).caps->regret_percent.has_value());
  predicted.advised.reset();
  CHECK(validate(predicted, measured_caps({80, 100, 90})).caps->chosen.empty());
}

TEST_CASE(
    "validation: caps give the same buckets if their ranges touch and their first buckets "
    "agree") {
  const auto compared = [](const CapFigure& one, const CapFigure& other) {
    Figures predicted = measured_caps({});
    Figures measured = measured_caps({});
    predicted.caps = {one};
    measured.caps = {other};
    predicted.caps[0].figure.us = measured.caps[0].figure.us = 100;
    return refusal_of_figures(predicted, measured).empty();
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
  CHECK(compared(as_cap, as_other_cap));  // the first limit follows the cap
  CapFigure standard = cap;
  standard.cap_mb.reset();
  CHECK_FALSE(compared(cap, standard));
  CHECK(compared(standard, standard));
}

TEST_CASE("validation: other ranks, nodes, GPUs and kinds are reported") {
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
  CHECK(mentions(refusal_of_figures(figures(8, 2, ""), figures(8, 4, "")),
                 "of 4: has 4 x 2 GPUs, but of 2 has 2 x 4 GPUs"));
  CHECK(mentions(refusal_of_figures(figures(8, 2, ""), figures(4, 2, "")),
                 "has 4 ranks, but of 2 has 8"));
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
  CHECK(mentions(refusal_of_figures(many, figures(8, 2, "")),
                 "One has x; the other has a, b, c, d and 2 more"));
  Figures span_of_gpu = figures(8, 2, "");
  span_of_gpu.rows.push_back(
      {.name = "gpu_span", .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  Figures step = figures(8, 2, "");
  step.rows.push_back({.name = "iteration", .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  for (const auto& [one, other] : {std::pair(step, span_of_gpu), std::pair(span_of_gpu, step)})
    CHECK(mentions(validate(one, other).notes.at(0), "iteration is not compared"));
  CHECK(validate(step, step).notes.empty());
}

TEST_CASE("validation: all-reduces of other buckets are not compared, and missing rows are named") {
  const auto step = [](std::vector<Bytes> bytes, double first_us) {
    Figures figures;
    figures.source = "step";
    figures.rows = {
        {.name = "iteration", .us = 100, .low_us = {}, .high_us = {}, .place = ""},
        {.name = "bucket 0 all_reduce", .us = first_us, .low_us = {}, .high_us = {}, .place = ""}};
    figures.bucket_bytes = std::move(bytes);
    return figures;
  };
  Figures predicted = step({Bytes(448), Bytes(8)}, 10);
  const Figures measured = step({Bytes(448), Bytes(8)}, 20);
  predicted.rows.push_back({.name = "wait", .us = 1, .low_us = {}, .high_us = {}, .place = ""});
  const Validation same = validate(predicted, measured);
  CHECK(same.rows.size() == 2);
  CHECK(same.worst_name == "bucket 0 all_reduce");
  CHECK(same.notes == std::vector<std::string>{"only predicted: wait"});
  CHECK(validate(measured, predicted).notes == std::vector<std::string>{"only measured: wait"});

  predicted.bucket_bytes = {Bytes(456)};
  const Validation other = validate(predicted, measured);
  CHECK(other.rows.size() == 1);
  CHECK(mentions(other.notes,
                 "the buckets differ, so their all-reduces are not compared: 456 bytes "
                 "predicted, 448, 8 measured"));
  predicted.bucket_bytes.clear();  // nothing is known about them
  CHECK(validate(predicted, measured).rows.size() == 2);
}
