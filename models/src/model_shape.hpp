// Shapes of architectures. The catalogue, dimensions in text form and a config.json all use them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "alexnet.hpp"
#include "bloom.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "decoder.hpp"
#include "densenet.hpp"
#include "efficientnet.hpp"
#include "encoder.hpp"
#include "falcon.hpp"
#include "gpt2.hpp"
#include "gpt_neox.hpp"
#include "gptj.hpp"
#include "inception.hpp"
#include "mobilenet.hpp"
#include "mpt.hpp"
#include "opt.hpp"
#include "resnet.hpp"
#include "t5.hpp"
#include "torchvision_convnext.hpp"
#include "torchvision_swin.hpp"
#include "torchvision_vit.hpp"
#include "transformer.hpp"
#include "unet.hpp"
#include "vgg.hpp"

namespace ddpsim {

using ModelShape =
    std::variant<ResNetShape, VggShape, AlexNetShape, DenseNetShape, InceptionV3Shape, BertShape,
                 Gpt2Shape, TransformerShape, LlamaShape, GptNeoxShape, OptShape, BloomShape,
                 MptShape, GptjShape, FalconShape, T5Shape, TorchvisionVitShape,
                 TorchvisionSwinShape, TorchvisionConvNextShape, EfficientNetShape,
                 MobileNetV2Shape, MobileNetV3Shape, UNetShape>;

/// Most tokens for models whose positions have no parameters. Nobody trains with more.
inline constexpr std::int64_t kMostTokens = 1'048'576;

/// Default samples.
struct UsualSamples {
  std::int64_t batch = 0;
  std::int64_t size = 0;         ///< pixels per side, or tokens
  std::int64_t most_tokens = 0;  ///< 0: images
};

ModelDescription described(std::string name, const ModelShape& shape, const UsualSamples& samples,
                           AttentionKernel attention);

}  // namespace ddpsim
