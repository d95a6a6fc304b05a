#include "model_fit.hpp"

#include <doctest/doctest.h>

using namespace ddpsim;

namespace {

std::vector<Bytes> sizes(std::initializer_list<std::int64_t> values) {
  std::vector<Bytes> list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return list;
}

}  // namespace

TEST_CASE("model fit: buckets decide between models with the same number of gradients") {
  CHECK(fitting_models(161, {}) == std::vector<std::string>{"resnet50", "resnext50_32x4d"});
  CHECK(fitting_models(161, sizes({8196000, 31502336, 26255360, 26550272, 9724160})) ==
        std::vector<std::string>{"resnet50"});
  CHECK(fitting_models(161, sizes({8196000, 31502336})).empty());
  CHECK(fitting_models(3, {}).empty());
}
