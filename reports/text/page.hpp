// An answer made of sections, cut to what fits on one terminal screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// The order in which sections are kept, first to last. Among sections of equal weight, later ones
/// are dropped first.
enum class Weight { verdict, next, answer, trust, warning, evidence, drawing, detail, more };

class Page {
 public:
  /// Sections are printed in the order in which they are added. Empty ones are ignored.
  void add(Weight weight, std::string text);
  /// Everything if the style sets no limit; else what weighs most and fits, plus a line that says
  /// there is more.
  std::string text(const TerminalStyle& style) const;

 private:
  struct Section {
    Weight weight;
    std::string text;
    std::size_t lines;
  };
  std::vector<Section> sections_;
};

}  // namespace ddpsim
