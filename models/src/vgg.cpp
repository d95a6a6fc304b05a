#include "vgg.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {

Model build_model(const std::string& name, const VggShape& shape, std::int64_t size) {
  constexpr std::array<std::int64_t, 5> kStageChannels = {64, 128, 256, 512, 512};
  constexpr std::int64_t kHidden = 4096;
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  // Index in `features`. ReLU and max-pool have indices too.
  int position = 0;
  const auto next = [&] { return "features." + std::to_string(position++); };
  for (std::size_t stage = 0; stage < kStageChannels.size(); ++stage) {
    for (int layer = 0; layer < shape.convolutions_per_stage[stage]; ++layer) {
      model.conv2d(
          next(),
          {.out = kStageChannels[stage], .kernel = {3, 3}, .padding = {1, 1}, .bias = true});
      model.relu(next());
    }
    model.max_pool(next(), {.size = 2, .stride = 2});
  }
  model.adaptive_average_pool("avgpool", 7);
  model.flatten();
  model.linear("classifier.0", kHidden);
  model.relu("classifier.1");
  model.dropout("classifier.2");
  model.linear("classifier.3", kHidden);
  model.relu("classifier.4");
  model.dropout("classifier.5");
  model.linear("classifier.6", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
