#include "gloo_file.hpp"

#include <fmt/format.h>

#include "calibration_file.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

constexpr std::size_t kMostGlooLogs = 10'000;

ObjectType type_of_gloo_constants() {
  ObjectType type("GlooConstants", "constants of gloo's all-reduces, those that the logs tell");
  for (const GlooConstant& constant : gloo_constants())
    type.may_have(constant.name, {Kind::number}, said_of_constant(constant.unit, constant.meaning));
  return type;
}

const ObjectType& gloo_constants_type() {
  static const ObjectType type = type_of_gloo_constants();
  return type;
}

}  // namespace

const ObjectType& gloo_type() {
  static const auto type =
      ObjectType("GlooCalibration", "what `ddpsim calibrate` fitted to logs of gloo")
          .needs("constants", object_of(gloo_constants_type()), "constants of gloo's all-reduces")
          .needs("deviation", object_of(spread_type()),
                 "how far times of a size differ from what the other sizes predict; 0.05 at least")
          .may_have("other_ranks_deviation", object_of(spread_type()),
                    "how far times of a job shape differ from what the other job shapes predict. "
                    "Without it, another number of ranks has the uncalibrated uncertainty")
          .needs("logs", list_of(object_of(calibrated_log_type())), "the logs it rests on");
  return type;
}

GlooCalibration read_gloo(const Cursor& cursor) {
  const Object fields = cursor.object(gloo_type());
  GlooCalibration out;
  if (const auto constants = fields.optional("constants")) {
    const Object values = constants->object(gloo_constants_type());
    for (const GlooConstant& constant : gloo_constants())
      if (const auto value = values.optional(constant.name)) {
        constant.set(out.links, value->number(constant.least, constant.most));
        out.fitted.push_back(&constant);
      }
  }
  if (const auto apart = fields.optional("other_ranks_deviation"))
    out.other_ranks_deviation = read_spread(*apart);
  if (const auto logs = fields.optional("logs")) {
    for (const Cursor& log : logs->array()) {
      if (out.logs.size() == kMostGlooLogs)
        log.fail(fmt::format("more than {} logs", kMostGlooLogs));
      out.logs.push_back(read_calibrated_log(log));
    }
    if (out.logs.empty()) logs->fail("is empty; a calibration rests on one log at least");
  }
  fields.required("constants");
  out.deviation = read_spread(fields.required("deviation"));
  fields.required("logs");
  return out;
}

void write_gloo(JsonWriter& json, const GlooCalibration& calibration) {
  json.begin_object();
  json.key("constants").begin_object();
  for (const GlooConstant* constant : calibration.fitted)
    json.key(constant->name).number(constant->of(calibration.links));
  json.end_object();
  write_spread(json, "deviation", calibration.deviation);
  if (calibration.other_ranks_deviation)
    write_spread(json, "other_ranks_deviation", *calibration.other_ranks_deviation);
  json.key("logs").begin_array();
  for (const CalibratedShape& log : calibration.logs) write_calibrated_log(json, log);
  json.end_array();
  json.end_object();
}

}  // namespace ddpsim
