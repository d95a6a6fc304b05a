// The cap curve: step time by bucket_cap_mb, the current setting, the recommended one, and the caps that are as good.
#include <fmt/format.h>

#include <algorithm>

#include "chart.hpp"
#include "curve_selection.hpp"
#include "ddpsim/reports/reports.hpp"
#include "figure_words.hpp"
#include "job_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr plot::Look kCurve{0};
constexpr plot::Look kRecommended{1};
constexpr plot::Look kDefault{3};
constexpr plot::Look kCurrent{5};

using Points = std::vector<const CurvePoint*>;

class CapCurveChart {
 public:
  explicit CapCurveChart(const TuneReport& report)
      : report_(report),
        result_(report.result),
        confidence_(report.context.trust.confidence),
        unit_(unit_for(result_.baseline().iteration)),
        digits_(digits_of(confidence_.grade)),
        step_digits_(digits_of_steps()) {
    for (const CurvePoint& point : result_.curve) {
      if (!point.reachable || !point.bucket_cap_mb) continue;
      const bool as_current = point.first_bucket_mb == point.bucket_cap_mb ||
                              point.first_bucket_mb == result_.baseline().first_bucket_mb;
      (as_current ? caps_ : apart_).push_back(&point);
    }
    std::sort(caps_.begin(), caps_.end(), [](const CurvePoint* a, const CurvePoint* b) {
      return a->cap_range_mb < b->cap_range_mb;
    });
  }

  plot::Chart chart() {
    chart_.title = subject(report_.context);
    chart_.subtitle = setting_text(report_.context);
    chart_.verdict = first_line_of(tune_text(report_, {}));
    add_current();
    add_recommended();
    const plot::Scale caps = scale_of_caps();
    add_plateau(caps);
    add_curve(caps);
    chart_.x = {"bucket_cap_mb, MiB", caps, ticks_of_caps(caps)};
    const plot::Scale times = scale_of_times(caps);
    chart_.y = {fmt::format("step, {}", name_of(unit_)), times,
                plot::ticks_of(times, plot::kMostTicks)};
    add_lower_bound();
    add_notes(caps);
    chart_.description = description_of(chart_);
    return std::move(chart_);
  }

 private:
  int digits_of_steps() const {
    constexpr double kSeen = 0.02;  // share of the range drawn
    const std::vector<Duration> steps = {result_.baseline().iteration, result_.best.iteration,
                                         result_.lower_bound};
    const auto [least, most] = std::ranges::minmax(steps);
    constexpr int kOnAxis = 3;  // digits of the axis' ticks
    return digits_apart(steps, std::max(digits_, kOnAxis), (most - least).scaled(kSeen), unit_);
  }

  double time(Duration duration) const { return in_unit(duration, unit_); }
  std::string text(Duration duration) const { return time_text(duration, digits_, unit_); }
  /// With enough digits that the steps of the figure differ.
  std::string step_text(Duration step) const { return time_text(step, step_digits_, unit_); }

  /// The cap at which the default is drawn: the limit of all buckets but the first.
  double default_cap() const { return result_.default_setting.cap_range_mb.first; }

  void add_current() {
    const CurvePoint& current = result_.baseline();
    const bool recorded = result_.current && result_.current->recorded;
    const std::string taken = ": " + step_text(current.iteration);
    const Duration measurable = result_.recommended.measurable;
    if (measurable > Duration())
      chart_.layers.push_back({time(current.iteration - measurable), time(current.iteration),
                               fmt::format("too small to measure (under {})", text(measurable))});
    const bool has_cap = result_.current && current.bucket_cap_mb && !recorded;
    if (has_cap)
      chart_.spots.push_back({*current.bucket_cap_mb, time(current.iteration), std::nullopt,
                              "current, " + cap_text(*current.bucket_cap_mb) + " MiB" + taken,
                              kCurrent});
    const bool is_default = !result_.current && default_cap() > 0;
    const Recommendation& recommended = result_.recommended;
    const bool told = recommended.set && !recommended.bucket_cap_mb && !recommended.first_bucket_mb;
    if (default_cap() > 0 && !told)
      chart_.spots.push_back(
          {default_cap(), time(result_.default_setting.iteration), std::nullopt,
           is_default ? "current, PyTorch's default" + taken : std::string("PyTorch's default"),
           is_default ? kCurrent : kDefault});
    // The line has a name only if no point marks the current setting.
    chart_.levels.push_back({time(current.iteration), has_cap || is_default ? ""
                                                      : recorded ? "current, as recorded" + taken
                                                                 : "current" + taken});
  }

  void add_recommended() {
    const Recommendation& recommended = result_.recommended;
    if (!recommended.set) return add_fastest();
    const auto found = std::ranges::find_if(
        result_.curve, [&](const CurvePoint& point) { return is_recommended(point, result_); });
    const CurvePoint& point = found == result_.curve.end() ? result_.best : *found;
    const Duration current = result_.baseline().iteration;
    const Gain& gain = recommended.gain;
    std::string name = recommended.bucket_cap_mb
                           ? fmt::format("bucket_cap_mb={}", cap_text(*recommended.bucket_cap_mb))
                           : std::string("PyTorch's default");
    if (recommended.first_bucket_mb)
      name = fmt::format("{}first bucket {} MiB", recommended.bucket_cap_mb ? name + ", " : "",
                         cap_text(*recommended.first_bucket_mb));
    chart_.spots.insert(chart_.spots.begin(),
                        {recommended.bucket_cap_mb.value_or(default_cap()), time(point.iteration),
                         std::pair(time(current - gain.high), time(current - gain.low)),
                         fmt::format("{}: saves {}", name, text(gain.value)), kRecommended});
  }

  void add_plateau(const plot::Scale& caps) {
    const auto [low, high] = result_.recommended.cap_range_mb;
    if (!result_.recommended.set || low >= high) return;
    std::string name = fmt::format("as good: {} to {} MiB", cap_text(low), cap_text(high));
    if (low < caps.low()) name = fmt::format("as good: up to {} MiB", cap_text(high));
    if (high >= kNoLimitMb) name = fmt::format("as good: from {} MiB on", cap_text(low));
    chart_.ranges.push_back({std::max(low, caps.low()), std::min(high, caps.high()), name});
  }

  /// The fastest cap, if none is recommended because the gain is too small or too uncertain.
  void add_fastest() {
    const CurvePoint& best = result_.best;
    if (!best.bucket_cap_mb || first_set_apart(best, result_)) return;
    const Duration gain = result_.baseline().iteration - best.iteration;
    if (gain <= Duration()) return;
    chart_.spots.push_back(
        {*best.bucket_cap_mb, time(best.iteration), std::nullopt,
         fmt::format("fastest: {} MiB, {} less", cap_text(*shown_cap(best, result_)), text(gain)),
         kRecommended});
  }

  /// The caps people choose from. Smaller ones only if a mark stands there.
  plot::Scale scale_of_caps() const {
    constexpr double kSmallest = 0.25;
    constexpr double kBeside = 1.3;
    plot::Extent extent(plot::ScaleKind::logarithmic);
    for (const plot::Spot& spot : chart_.spots) extent.add(spot.x);
    // All caps that are as good as the recommended one.
    if (result_.recommended.set) {
      const auto [low, high] = result_.recommended.cap_range_mb;
      extent.add(std::max(low, kSmallest));
      if (high < kNoLimitMb) extent.add(high);
    }
    for (const CurvePoint* point : caps_) {
      const auto [low, high] = point->cap_range_mb;
      if (result_.only_caps_asked) {
        extent.add(*point->bucket_cap_mb);
      } else {
        extent.add(std::max(low, kSmallest));
        if (high < kNoLimitMb && high > kSmallest) extent.add(high);
      }
    }
    const plot::Scale scale(plot::ScaleKind::logarithmic, extent);
    return {scale.kind(), scale.low() / (result_.only_caps_asked ? kBeside : 1),
            scale.high() * kBeside};
  }

  static std::vector<plot::Tick> ticks_of_caps(const plot::Scale& caps) {
    constexpr int kMost = 13;
    return plot::doubling_ticks(caps.low(), caps.high(), kMost,
                                [](double cap) { return fmt::format("{:g}", cap); });
  }

  plot::Value value_at(double cap, const CurvePoint& point) const {
    plot::Value value{cap, time(point.iteration)};
    if (point.if_communication)
      value.interval = std::minmax(time(point.iteration), time(*point.if_communication));
    value.told = fmt::format("{} MiB: {}, {}", cap_text(cap), step_text(point.iteration),
                             counted(point.buckets, "bucket"));
    return value;
  }

  void add_curve(const plot::Scale& caps) {
    plot::Series curve{.look = kCurve, .join = plot::Join::steps, .markers = false};
    if (result_.only_caps_asked) {
      curve.join = plot::Join::none;
      curve.spread = plot::Spread::bars;
      curve.markers = true;
      for (const CurvePoint* point : caps_)
        curve.values.push_back(value_at(*point->bucket_cap_mb, *point));
    } else {
      for (const CurvePoint* point : caps_)
        if (point->cap_range_mb.second >= caps.low())
          curve.values.push_back(value_at(std::max(caps.low(), point->cap_range_mb.first), *point));
      if (!curve.values.empty()) {
        curve.values.push_back(curve.values.back());
        curve.values.back().x = std::min(caps.high(), caps_.back()->cap_range_mb.second);
      }
    }
    chart_.series.push_back(std::move(curve));
  }

  /// From the steps of caps of 1 MiB and more. Slower steps of smaller caps count only if they make the axis at most half as
  /// long again, because they may take many times as long.
  plot::Scale scale_of_times(const plot::Scale& caps) {
    constexpr double kUsual = 1;
    constexpr double kAbove = 0.5;
    plot::Extent usual(plot::ScaleKind::linear);
    for (const plot::Level& level : chart_.levels) usual.add(level.y);
    for (const plot::Layer& layer : chart_.layers) usual.add(layer.low);
    for (const plot::Spot& spot : chart_.spots) {
      usual.add(spot.y);
      if (!spot.interval) continue;
      usual.add(spot.interval->first);
      usual.add(spot.interval->second);
    }
    const bool any_usual = caps.high() > kUsual;
    plot::Extent rest = usual;
    // The usual caps first, because they decide which of the others count.
    for (const bool now : {true, false})
      for (const plot::Series& series : chart_.series)
        for (std::size_t i = 0; i < series.values.size(); ++i) {
          const plot::Value& value = series.values[i];
          const double until = series.values[std::min(i + 1, series.values.size() - 1)].x;
          const bool is_usual = !any_usual || result_.only_caps_asked || until >= kUsual;
          if (is_usual != now) continue;
          const double most = value.interval ? std::max(value.y, value.interval->second) : value.y;
          const auto [low, high] = *usual.ends();
          if (now) {
            usual.add(most);
            usual.add(value.interval ? value.interval->first : value.y);
            rest = usual;
          } else if (most <= high + kAbove * (high - low)) {
            rest.add(most);
            rest.add(value.interval ? value.interval->first : value.y);
          }
        }
    constexpr double kBeside = 0.06;
    return without_slowest({plot::ScaleKind::linear, rest}).widened(kBeside, kBeside);
  }

  /// Cuts the axis if much slower steps would flatten the others. An axis with a band is never cut.
  plot::Scale without_slowest(const plot::Scale& times) {
    const bool band = std::ranges::any_of(
        caps_, [](const CurvePoint* point) { return point->if_communication.has_value(); });
    if (band || result_.only_caps_asked) return times;
    constexpr double kAboveGain = 2.5;      // times the largest gain
    constexpr double kAboveMeasurable = 3;  // times the least measurable gain
    constexpr double kAboveCurrent = 0.05;  // share of the current step
    const double current = time(result_.baseline().iteration);
    double most = current + std::max({kAboveGain * (current - times.low()),
                                      kAboveMeasurable * time(result_.recommended.measurable),
                                      kAboveCurrent * current});
    for (const plot::Spot& spot : chart_.spots)
      most = std::max({most, spot.y, spot.interval ? spot.interval->second : spot.y});
    if (times.high() <= most) return times;
    const auto slowest = *std::ranges::max_element(
        caps_, {}, [](const CurvePoint* point) { return point->iteration; });
    chart_.notes.push_back(
        fmt::format("Much slower caps leave the figure through its top; the slowest takes {}.",
                    step_text(slowest->iteration)));
    return {times.kind(), times.low(), most};
  }

  /// A line, unless the bound lies far below the curve; then a note.
  void add_lower_bound() {
    const double bound = time(result_.lower_bound);
    const plot::Scale& times = chart_.y.scale;
    constexpr double kNear = 0.5;
    constexpr double kBeside = 0.05;
    const double length = times.high() - times.low();
    if (!times.covers(bound) && (bound >= times.low() || bound < times.low() - kNear * length)) {
      chart_.notes.push_back(
          fmt::format("If collectives took no time, a step would take {}: below this figure.",
                      step_text(result_.lower_bound)));
      return;
    }
    if (bound < times.low() + kBeside * length)
      chart_.y.scale = {times.kind(), bound - kBeside * length, times.high()};
    chart_.y.ticks = plot::ticks_of(chart_.y.scale, plot::kMostTicks);
    chart_.levels.push_back(
        {bound, fmt::format("if collectives took no time: {}", step_text(result_.lower_bound)),
         true});
  }

  void add_notes(const plot::Scale& caps) {
    std::string what = "Predicted, not measured: ";
    what += result_.only_caps_asked
                ? "each marker is a cap you asked for; caps in between were not simulated."
                : fmt::format("each step of the line is one bucket assignment, {} in all.",
                              caps_.size());
    if (result_.unsimulated > 0)
      what += fmt::format(" {} more were only estimated and are not drawn.", result_.unsimulated);
    const bool below =
        !result_.only_caps_asked && std::ranges::any_of(caps_, [&](const CurvePoint* point) {
          return point->cap_range_mb.second < caps.low();
        });
    if (!apart_.empty()) {
      const auto fastest = *std::ranges::min_element(
          apart_, {}, [](const CurvePoint* point) { return point->iteration; });
      what += fmt::format(" {} with a first bucket of another size are not drawn: {} at best.",
                          apart_.size(), step_text(fastest->iteration));
    }
    if (below) what += fmt::format(" Caps below {} MiB are not drawn.", cap_text(caps.low()));
    chart_.notes.push_back(what);
    if (std::ranges::any_of(
            caps_, [](const CurvePoint* point) { return point->if_communication.has_value(); }))
      chart_.notes.push_back(fmt::format(
          "{}: up to the step that would follow if the replay of the measured step missed "
          "communication, not compute.",
          result_.only_caps_asked ? "Bars of caps" : "Band"));
    if (result_.recommended.set)
      chart_.notes.push_back(
          fmt::format("Bar at the recommended cap: it saves {} {} of the current step (80 % "
                      "interval).",
                      time_interval(result_.recommended.gain.low, result_.recommended.gain.high,
                                    digits_, unit_),
                      name_of(unit_)));
    chart_.notes.push_back(shared_error(confidence_));
    chart_.notes.push_back(as_note(confidence_.provenance));
  }

  const TuneReport& report_;
  const TuneResult& result_;
  const Confidence& confidence_;
  TimeUnit unit_;
  int digits_;
  int step_digits_;
  Points caps_;   ///< ascending, first bucket unchanged
  Points apart_;  ///< first bucket of another size
  plot::Chart chart_{.x = {"", {plot::ScaleKind::logarithmic, 1, 2}, {}},
                     .y = {"", {plot::ScaleKind::linear, 0, 1}, {}}};
};

}  // namespace

std::string tune_svg(const TuneReport& report) {
  return plot::svg(CapCurveChart(report).chart());
}

}  // namespace ddpsim
