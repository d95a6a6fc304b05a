"""Builds the models of transformers for config.json files, for tests/cli/test_model_configs.py.

python3 hugging_face_models.py CONFIG…          prints one line of JSON for each: names, shapes, buffers, and the order
in
                                                which a real backward finishes the gradients

python3 hugging_face_models.py --meta CONFIG…   prints only names, shapes and buffers, on the meta device, for any size
"""

import json
import os
import sys
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402


def model_of(path):
    with open(path) as file:
        values = json.load(file)
    config = transformers.CONFIG_MAPPING[values["model_type"]].from_dict(values)
    named = (config.architectures or [None])[0]
    if named:
        return getattr(transformers, named)(config)
    kind = {"bert": transformers.AutoModelForPreTraining, "t5": transformers.AutoModelForSeq2SeqLM}
    return kind.get(config.model_type, transformers.AutoModelForCausalLM).from_config(config)


def takes_images(model):
    """Whether the model takes only images."""
    return model.main_input_name == "pixel_values" and not hasattr(model.config, "vision_config")


def reads_images(model):
    """Whether the model takes images among words."""
    return hasattr(model, "get_image_features") and model.config.model_type not in ("clip", "siglip")


def images_of(model):
    """One image for each of two samples, in the form that the processor of the model returns."""
    vision, kind = model.config.vision_config, model.config.model_type
    if kind.startswith("qwen2"):
        features = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        return {"pixel_values": torch.randn(2 * 64, features), "image_grid_thw": torch.tensor([[1, 8, 8]] * 2)}
    if kind == "gemma4":
        side = 2 * vision.pooling_kernel_size
        places = torch.tensor([[x, y] for y in range(side) for x in range(side)])
        return {
            "pixel_values": torch.rand(2, side * side, 3 * vision.patch_size**2),
            "image_position_ids": places.expand(2, -1, -1),
        }
    side = vision.image_size
    shape = {"smolvlm": (2, 1, 3, side, side), "idefics3": (2, 1, 3, side, side), "llava_next": (2, 3, 3, side, side)}
    images = {"pixel_values": torch.randn(shape.get(kind, (2, 3, side, side)))}
    if kind in ("llava_next", "mistral3"):
        images["image_sizes"] = torch.tensor([[side, 2 * side if kind == "llava_next" else side]] * 2)
    return images


def words_around(model, images):
    """Placeholder tokens for the images, followed by a few words."""
    with torch.no_grad():
        features = model.get_image_features(**images).pooler_output
    count = sum(len(one.reshape(-1, one.shape[-1])) for one in features) // 2
    place = torch.full((2, count), model.config.image_token_id)
    return torch.cat([place, torch.randint(3, 9, (2, 6))], dim=1)


def inputs_of(model):
    """A batch of two samples of the kind that the model takes."""
    config = model.config
    tokens = torch.randint(3, 9, (2, 6))
    inputs = {"input_ids": tokens}
    if reads_images(model):
        images = images_of(model)
        inputs = {**images, "input_ids": words_around(model, images)}
        if config.model_type.startswith("qwen2"):
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == config.image_token_id).long()
        return inputs
    if hasattr(config, "vision_config"):
        side = config.vision_config.image_size
        inputs["pixel_values"] = torch.randn(2, 3, side, side)
    if takes_images(model):
        inputs = {"pixel_values": torch.randn(2, 3, config.image_size, config.image_size)}
        if any(name.endswith("mask_token") for name, _ in model.named_parameters()):
            inputs["bool_masked_pos"] = torch.ones(2, (config.image_size // config.patch_size) ** 2, dtype=torch.bool)
    if model.main_input_name == "input_values":
        inputs = {"input_values": torch.randn(2, 4000)}
    if model.main_input_name == "input_features":
        inputs = {"input_features": torch.randn(2, config.num_mel_bins, 2 * config.max_source_positions)}
    if config.is_encoder_decoder and "Encoder" not in type(model).__name__:
        inputs["decoder_input_ids"] = tokens
    return inputs


def ready_order(model):
    position = {name: index for index, (name, _) in enumerate(model.named_parameters())}
    order = []
    accumulators = []  # keeps autograd's nodes alive
    for name, tensor in model.named_parameters():
        if not tensor.requires_grad:
            continue
        accumulator = tensor.expand_as(tensor).grad_fn.next_functions[0][0]
        accumulator.register_hook(lambda *_, name=name: order.append(position[name]))
        accumulators.append(accumulator)
    output = model(**inputs_of(model))
    loss = sum(value.float().sum() for value in output.values() if torch.is_tensor(value) and value.requires_grad)
    loss.backward()
    return order


def buffers_of(model):
    groups = {}
    for buffer in model.buffers():
        group = groups.setdefault(str(buffer.dtype).removeprefix("torch."), [0, 0])
        group[0] += 1
        group[1] += buffer.numel() * buffer.element_size()
    return groups


def describe(path, meta):
    if meta:
        with torch.device("meta"):
            model = model_of(path)
    else:
        torch.manual_seed(0)
        model = model_of(path)
    model.train()
    return {
        "path": path,
        "names": [name for name, _ in model.named_parameters()],
        "shapes": [list(tensor.shape) for _, tensor in model.named_parameters()],
        "takes_images": takes_images(model) or reads_images(model),
        "buffers": buffers_of(model),
        "ready": None if meta else ready_order(model),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    paths = [argument for argument in sys.argv[1:] if argument != "--meta"]
    for one in paths:
        print(json.dumps(describe(one, "--meta" in sys.argv)), flush=True)
