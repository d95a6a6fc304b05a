// An answer in sections, as many of them as a terminal's page holds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// How soon a section gives way; sections of one kind do so from the last.
enum class Weight { verdict, next, answer, trust, warning, evidence, drawing, detail, more };

class Page {
 public:
  /// Sections are printed in the order they are added; an empty one takes no part.
  void add(Weight weight, std::string text);
  /// Whole where the style sets no limit; otherwise what weighs most and fits, and a line on what is missing.
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
