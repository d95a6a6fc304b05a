// A number as logs and tables write it, with everything attached to it.
//
//   0.123  4.71K  1,234.5  1'234.5  12,5  0.312s  123 ms/step  5.67it/s  369.0 images/s  1.034 ( 2.526)  2500.1 +/- 0.3
//
// The text after a number must be understood, or the value has a problem: "12x", "1m30s", "12/50",
// "1 234".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "step_time_name.hpp"

namespace ddpsim {

/// Which sign separates decimals in a text. It is determined when a number first needs it.
class DecimalMark {
 public:
  explicit DecimalMark(std::string_view text) : text_(text) {}
  bool is_point();
  bool is_comma();

 private:
  void look();

  std::string_view text_;
  bool looked_ = false;
  bool point_ = false;  ///< the text contains a number such as 0.35
  /// The text contains a number such as 0,35 and none such as 0.35.
  bool comma_ = false;
};

struct StepValue {
  enum class Suffix { none, time, time_per_step, steps_per_time, items_per_time };

  double number = 0;
  Suffix suffix = Suffix::none;
  double unit_s = 0;                                         ///< of the suffix
  std::string suffix_text;                                   ///< "it/s"
  StepTimeName::Scope scope = StepTimeName::Scope::unknown;  ///< of items
  bool tokens = false;                                       ///< of items
  /// "1,234" was read as 1234, but nothing in the text excludes 1.234.
  bool may_be_decimal = false;
  bool has_deviation = false;  ///< followed by "± 0.3"
  std::string problem;         ///< what is not understood; empty otherwise
};

/// Takes a value with everything attached to it from the front of `text`. Absent if there is no
/// number.
std::optional<StepValue> take_step_value(std::string_view& text, DecimalMark& mark);

/// The value of a whole cell. It has a problem if the cell contains more.
std::optional<StepValue> parse_step_value(std::string_view cell, DecimalMark& mark);

}  // namespace ddpsim
