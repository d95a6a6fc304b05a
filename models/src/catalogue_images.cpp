// Models over images. A name of torchvision has the parameters of torchvision's class.
#include <utility>

#include "catalogue_entries.hpp"

namespace ddpsim {
namespace {

/// Widths, depths and sides of table 1 and of torchvision's weights.
CatalogueEntry efficientnet_of(std::string_view name, double width, double depth,
                               std::int64_t side) {
  return {.name = name, .shape = efficientnet(width, depth), .size = side};
}

/// Sides are those of torchvision's training, table 4 of the paper has the stages.
CatalogueEntry second_efficientnet(std::string_view name, std::int64_t stem,
                                   std::vector<EfficientNetStage> stages, std::int64_t side) {
  constexpr std::int64_t kLast = 1280;
  return {.name = name,
          .shape = EfficientNetShape{.stem = stem, .stages = std::move(stages), .last = kLast},
          .size = side};
}

CatalogueEntry unet(std::string_view name, std::string_view source, UNetShape shape,
                    std::int64_t batch, std::int64_t side) {
  return {.name = name,
          .shape = std::move(shape),
          .batch = batch,
          .size = side,
          .attention = AttentionKernel::sdpa,
          .source = source};
}

CatalogueEntry vit(std::string_view name, const TorchvisionVitShape& shape) {
  return {.name = name, .shape = shape, .attention = AttentionKernel::sdpa};
}

}  // namespace

std::vector<CatalogueFamily> image_catalogue() {
  return {
      {"ResNet",
       {{"resnet18", ResNetShape{ResidualBlock::basic, {2, 2, 2, 2}}},
        {"resnet34", ResNetShape{ResidualBlock::basic, {3, 4, 6, 3}}},
        {"resnet50", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}}},
        {"resnet101", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}}},
        {"resnet152", ResNetShape{ResidualBlock::bottleneck, {3, 8, 36, 3}}},
        {"resnext50_32x4d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 6, 3}, 32, 4}},
        {"resnext101_32x4d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}, 32, 4}},
        {"resnext101_32x8d", ResNetShape{ResidualBlock::bottleneck, {3, 4, 23, 3}, 32, 8}}}},
      {"VGG, AlexNet",
       {{"vgg11", VggShape{{1, 1, 2, 2, 2}}},
        {"vgg13", VggShape{{2, 2, 2, 2, 2}}},
        {"vgg16", VggShape{{2, 2, 3, 3, 3}}},
        {"vgg19", VggShape{{2, 2, 4, 4, 4}}},
        {"alexnet", AlexNetShape{}, 128}}},
      {"DenseNet, Inception",
       {{"densenet121", DenseNetShape{32, {6, 12, 24, 16}}},
        {"inception_v3", InceptionV3Shape{}, 32, 299}}},
      // Patch, layers, features, heads, feed-forward.
      {"ViT",
       {vit("vit_b_16", {16, 12, 768, 12, 3072}), vit("vit_b_32", {32, 12, 768, 12, 3072}),
        vit("vit_l_16", {16, 24, 1024, 16, 4096}), vit("vit_l_32", {32, 24, 1024, 16, 4096}),
        vit("vit_h_14", {14, 32, 1280, 16, 5120})}},
      {"Swin",
       {{"swin_t", TorchvisionSwinShape{96, {2, 2, 6, 2}, {3, 6, 12, 24}}},
        {"swin_s", TorchvisionSwinShape{96, {2, 2, 18, 2}, {3, 6, 12, 24}}},
        {"swin_b", TorchvisionSwinShape{128, {2, 2, 18, 2}, {4, 8, 16, 32}}}}},
      {"ConvNeXt",
       {{"convnext_tiny", TorchvisionConvNextShape{96, {3, 3, 9, 3}}},
        {"convnext_small", TorchvisionConvNextShape{96, {3, 3, 27, 3}}},
        {"convnext_base", TorchvisionConvNextShape{128, {3, 3, 27, 3}}},
        {"convnext_large", TorchvisionConvNextShape{192, {3, 3, 27, 3}}}}},
      // Expansion, kernel, stride, channels, blocks, fused.
      {"EfficientNet",
       {efficientnet_of("efficientnet_b0", 1.0, 1.0, 224),
        efficientnet_of("efficientnet_b1", 1.0, 1.1, 240),
        efficientnet_of("efficientnet_b2", 1.1, 1.2, 288),
        efficientnet_of("efficientnet_b3", 1.2, 1.4, 300),
        efficientnet_of("efficientnet_b4", 1.4, 1.8, 380),
        efficientnet_of("efficientnet_b5", 1.6, 2.2, 456),
        efficientnet_of("efficientnet_b6", 1.8, 2.6, 528),
        efficientnet_of("efficientnet_b7", 2.0, 3.1, 600),
        second_efficientnet("efficientnet_v2_s", 24,
                            {{1, 3, 1, 24, 2, true},
                             {4, 3, 2, 48, 4, true},
                             {4, 3, 2, 64, 4, true},
                             {4, 3, 2, 128, 6},
                             {6, 3, 1, 160, 9},
                             {6, 3, 2, 256, 15}},
                            300),
        second_efficientnet("efficientnet_v2_m", 24,
                            {{1, 3, 1, 24, 3, true},
                             {4, 3, 2, 48, 5, true},
                             {4, 3, 2, 80, 5, true},
                             {4, 3, 2, 160, 7},
                             {6, 3, 1, 176, 14},
                             {6, 3, 2, 304, 18},
                             {6, 3, 1, 512, 5}},
                            384),
        second_efficientnet("efficientnet_v2_l", 32,
                            {{1, 3, 1, 32, 4, true},
                             {4, 3, 2, 64, 7, true},
                             {4, 3, 2, 96, 7, true},
                             {4, 3, 2, 192, 10},
                             {6, 3, 1, 224, 19},
                             {6, 3, 2, 384, 25},
                             {6, 3, 1, 640, 7}},
                            384)}},
      // Kernel, expanded, channels, weights for channels, Hardswish, stride.
      {"MobileNet",
       {{"mobilenet_v2", MobileNetV2Shape{}, 96},
        {"mobilenet_v3_small",
         MobileNetV3Shape{{{3, 16, 16, true, false, 2},
                           {3, 72, 24, false, false, 2},
                           {3, 88, 24, false, false, 1},
                           {5, 96, 40, true, true, 2},
                           {5, 240, 40, true, true, 1},
                           {5, 240, 40, true, true, 1},
                           {5, 120, 48, true, true, 1},
                           {5, 144, 48, true, true, 1},
                           {5, 288, 96, true, true, 2},
                           {5, 576, 96, true, true, 1},
                           {5, 576, 96, true, true, 1}},
                          1024},
         128},
        {"mobilenet_v3_large",
         MobileNetV3Shape{{{3, 16, 16, false, false, 1},
                           {3, 64, 24, false, false, 2},
                           {3, 72, 24, false, false, 1},
                           {5, 72, 40, true, false, 2},
                           {5, 120, 40, true, false, 1},
                           {5, 120, 40, true, false, 1},
                           {3, 240, 80, false, true, 2},
                           {3, 200, 80, false, true, 1},
                           {3, 184, 80, false, true, 1},
                           {3, 184, 80, false, true, 1},
                           {3, 480, 112, true, true, 1},
                           {3, 672, 112, true, true, 1},
                           {5, 672, 160, true, true, 2},
                           {5, 960, 160, true, true, 1},
                           {5, 960, 160, true, true, 1}},
                          1280},
         128}}},
      // Channels, layers of each transformer, heads.
      {"Stable Diffusion (UNet over latents)",
       {unet("unet-sd1.5", "unet/config.json of stable-diffusion-v1-5/stable-diffusion-v1-5",
             {.levels = {{320, 1, 8}, {640, 1, 8}, {1280, 1, 8}, {1280, 0, 8}},
              .text_features = 768},
             4, 64),
        unet("unet-sdxl", "unet/config.json of stabilityai/stable-diffusion-xl-base-1.0",
             {.levels = {{320, 0, 5}, {640, 2, 10}, {1280, 10, 20}},
              .text_features = 2048,
              .linear_projection = true,
              .added_features = 2816},
             1, 128)}},
  };
}

}  // namespace ddpsim
