#include "module_times.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "unit_sizes.hpp"

namespace ddpsim {
namespace {

/// A point in backward: the given share of the work up to a gradient is done.
struct Place {
  std::size_t gradient = 0;
  double share = 0;
  auto operator<=>(const Place&) const = default;
};

class ModuleTimes {
 public:
  ModuleTimes(const std::vector<Unit>& units, const Recording& recording)
      : units_(units),
        parameters_(recording.workload().parameters),
        gradients_(recording.gradients()),
        first_written_(parameters_.size(), gradients_) {
    done_ = {0};
    for (std::size_t k = 0; k < gradients_; ++k) {
      const GradientInterval gradient = recording.gradient(k);
      first_written_[gradient.parameter] = std::min(first_written_[gradient.parameter], k);
      done_.push_back(done_.back() + (gradient.compute + gradient.idle).seconds());
    }
    all_ = done_.back() + recording.after_last_gradient().seconds();
    for (const Unit& unit : units) held_.push_back(held_by(unit));
  }

  std::vector<UnitSpan> put_right(std::vector<UnitSpan> spans) const {
    const bool timed = every_module_is_timed();
    if (!timed && !any_is_frozen()) return spans;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].module.empty() || held_[u].empty()) continue;
      if (timed)
        put_as_timed(u, spans[u]);
      else
        put_forward_by_elements(u, spans[u]);
    }
    if (!timed) put_frozen_by_elements(spans);
    return spans;
  }

 private:
  /// Parameters of the unit and of units within it.
  std::vector<std::size_t> held_by(const Unit& unit) const {
    std::vector<std::size_t> held;
    for (const Unit& inner : units_)
      if (is_within(inner.module, unit.module))
        held.insert(held.end(), inner.parameters.begin(), inner.parameters.end());
    std::ranges::sort(held);
    return held;
  }
  bool is_frozen(std::size_t unit) const {
    return !held_[unit].empty() &&
           std::ranges::all_of(held_[unit], [&](std::size_t p) { return parameters_[p].frozen; });
  }
  bool any_is_frozen() const {
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (is_frozen(u) && !units_[u].module.empty()) return true;
    return false;
  }
  bool every_module_is_timed() const {
    return std::ranges::all_of(parameters_, [](const Parameter& parameter) {
      return parameter.ignored || parameter.module_time.has_value();
    });
  }

  Place place_at(double share) const {
    const double target = share * all_;
    const double exact = 1e-9 * all_;
    for (std::size_t k = 0; k < gradients_; ++k) {
      if (target >= done_[k + 1] - exact) continue;
      const double within = (target - done_[k]) / (done_[k + 1] - done_[k]);
      return {.gradient = k, .share = std::max(within, 0.0)};
    }
    return {.gradient = gradients_ - 1, .share = 1};
  }

  void put_as_timed(std::size_t u, UnitSpan& span) const {
    span.forward_begin = 1;
    span.forward_end = 0;
    std::optional<double> begin;
    double end = 0;
    for (const std::size_t p : held_[u]) {
      const ModuleTime& time = *parameters_[p].module_time;
      span.forward_begin = std::min(span.forward_begin, time.forward_begin);
      span.forward_end = std::max(span.forward_end, time.forward_end);
      if (!time.backward) continue;
      begin = std::min(begin.value_or(1), time.backward->first);
      end = std::max(end, time.backward->second);
    }
    if (is_frozen(u)) {
      span.reached = begin.has_value();
      if (begin) put_between(place_at(*begin), place_at(end), span);
    } else if (begin) {
      // The unit's backward has begun when its first gradient is written.
      const Place at = std::min(place_at(*begin), Place{.gradient = span.first, .share = 1});
      span.first = at.gradient;
      span.first_share = at.share;
    }
  }
  static void put_between(const Place& begin, const Place& end, UnitSpan& span) {
    span.first = begin.gradient;
    span.first_share = begin.share;
    span.last = end.gradient;
    span.last_share = end.share;
    // A share of the work up to a gradient, so that a module is reached before it is left.
    constexpr double kNothing = 1e-12;
    if (begin == end) span.last_share += kNothing;
  }

  std::int64_t elements(std::size_t parameter) const {
    return parameters_[parameter].ignored ? 0 : elements_of(parameters_[parameter]);
  }
  void put_forward_by_elements(std::size_t u, UnitSpan& span) const {
    double before = 0;
    double until = 0;
    double all = 0;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const auto count = static_cast<double>(elements(p));
      if (p < held_[u].front()) before += count;
      if (p <= held_[u].back()) until += count;
      all += count;
    }
    span.forward_begin = all > 0 ? before / all : 0;
    span.forward_end = all > 0 ? until / all : 0;
  }

  /// Places each unit by itself, since outer units hold the parameters of inner ones.
  void put_frozen_by_elements(std::vector<UnitSpan>& spans) const {
    const std::vector<std::size_t> next = next_gradients();
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].module.empty() || !is_frozen(u)) continue;
      const std::size_t k = next[held_[u].front()];
      spans[u].reached = k < gradients_;
      if (!spans[u].reached) continue;
      // Backward reaches what is defined later first.
      double behind = 0;
      double own = 0;
      double all = 0;
      for (std::size_t p = 0; p < parameters_.size(); ++p) {
        const bool on_the_way = parameters_[p].frozen && next[p] == k;
        if (!on_the_way && first_written_[p] != k) continue;
        const auto count = static_cast<double>(elements(p));
        if (on_the_way && p > held_[u].back()) behind += count;
        if (p >= held_[u].front() && p <= held_[u].back()) own += count;
        all += count;
      }
      if (all <= 0) all = 1;
      put_between({.gradient = k, .share = behind / all},
                  {.gradient = k, .share = (behind + own) / all}, spans[u]);
    }
    // Backward reaches units that train and lie in front of them after them.
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].module.empty() || held_[u].empty() || is_frozen(u)) continue;
      for (std::size_t v = 0; v < units_.size(); ++v)
        if (is_frozen(v) && spans[v].reached && spans[v].last == spans[u].first &&
            held_[v].front() > held_[u].back())
          spans[u].first_share = std::max(spans[u].first_share, spans[v].last_share);
    }
  }
  /// For each parameter, the gradient that is written when backward has passed everything defined
  /// behind it.
  std::vector<std::size_t> next_gradients() const {
    std::vector<std::size_t> next(parameters_.size());
    std::size_t written = 0;
    for (std::size_t p = parameters_.size(); p-- > 0;) {
      next[p] = written;
      if (first_written_[p] < gradients_) written = std::max(written, first_written_[p] + 1);
    }
    return next;
  }

  const std::vector<Unit>& units_;
  const std::vector<Parameter>& parameters_;
  std::size_t gradients_;
  /// For each parameter, its first gradient; one past the last gradient if it has none.
  std::vector<std::size_t> first_written_;
  std::vector<double> done_;  ///< seconds of backward after k gradients
  double all_ = 0;
  std::vector<std::vector<std::size_t>> held_;  ///< by unit, with inner ones', ascending
};

}  // namespace

std::vector<UnitSpan> by_module_times(const std::vector<Unit>& units, const Recording& recording,
                                      std::vector<UnitSpan> spans) {
  const std::vector<Parameter>& parameters = recording.workload().parameters;
  const bool known = std::ranges::any_of(parameters, [](const Parameter& parameter) {
    return parameter.frozen || parameter.module_time.has_value();
  });
  return known ? ModuleTimes(units, recording).put_right(std::move(spans)) : spans;
}

}  // namespace ddpsim
