#include "ddpsim/sim/values/wrap_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace ddpsim {
namespace {

using By = WrapPolicy::By;

const WordTable<By>& words_of_policies() {
  static const WordTable<By> table = {
      {By::blocks, "blocks"}, {By::none, "none"}, {By::leaves, "leaves"}, {By::size, "size"}};
  return table;
}

}  // namespace

std::string text_of(const WrapPolicy& wrap) {
  if (wrap.by == By::modules) return fmt::format("{}", fmt::join(wrap.modules, "+"));
  return std::string(word_for(words_of_policies(), wrap.by));
}

std::vector<SchemeOption> wrap_options(WrapPolicy& wrap) {
  SchemeOption policy = word_option("wrap", wrap.by, words_of_policies());
  policy.in_force = text_of(wrap);
  policy.value = SchemeOption::Paths{[&wrap](std::vector<std::string> paths) {
    wrap.by = By::modules;
    wrap.modules = std::move(paths);
  }};
  SchemeOption least = elements_option("min_num_params", wrap.min_num_params);
  if (wrap.by != By::size) least.in_force.reset();
  return {std::move(policy), std::move(least)};
}

}  // namespace ddpsim
