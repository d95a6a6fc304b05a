#include "alexnet.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {

Model build_model(const std::string& name, const AlexNetShape& /*shape*/, std::int64_t size) {
  constexpr Window kPool = {.size = 3, .stride = 2};
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  const auto conv3x3 = [&](const char* module, std::int64_t out) {
    model.conv2d(module, {.out = out, .kernel = {3, 3}, .padding = {1, 1}, .bias = true});
  };
  model.conv2d("features.0",
               {.out = 64, .kernel = {11, 11}, .stride = 4, .padding = {2, 2}, .bias = true});
  model.relu("features.1");
  model.max_pool("features.2", kPool);
  model.conv2d("features.3", {.out = 192, .kernel = {5, 5}, .padding = {2, 2}, .bias = true});
  model.relu("features.4");
  model.max_pool("features.5", kPool);
  conv3x3("features.6", 384);
  model.relu("features.7");
  conv3x3("features.8", 256);
  model.relu("features.9");
  conv3x3("features.10", 256);
  model.relu("features.11");
  model.max_pool("features.12", kPool);
  model.adaptive_average_pool("avgpool", 6);
  model.flatten();
  model.dropout("classifier.0");
  model.linear("classifier.1", 4096);
  model.relu("classifier.2");
  model.dropout("classifier.3");
  model.linear("classifier.4", 4096);
  model.relu("classifier.5");
  model.linear("classifier.6", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
