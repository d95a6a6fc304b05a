"""ResNet-18 and -50 with torchvision's parameters, for a PyTorch without torchvision."""

from torch import nn


class Block(nn.Module):
    """A block with a shortcut: two convolutions of 3x3, or if `expansion` is 4, one of 3x3 between two of 1x1."""

    def __init__(self, inputs, width, stride, expansion):
        super().__init__()
        outputs = width * expansion
        # The kernel, outputs and stride of each convolution.
        shapes = (
            [(3, width, stride), (3, outputs, 1)]
            if expansion == 1
            else [(1, width, 1), (3, width, stride), (1, outputs, 1)]
        )
        self.depth = len(shapes)
        before = inputs
        for k, (kernel, after, step) in enumerate(shapes, 1):
            setattr(self, f"conv{k}", nn.Conv2d(before, after, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{k}", nn.BatchNorm2d(after))
            before = after
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for k in range(1, self.depth + 1):
            y = getattr(self, f"bn{k}")(getattr(self, f"conv{k}")(y))
            if k < self.depth:
                y = self.relu(y)
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet(depth):
    blocks, expansion = {18: ((2, 2, 2, 2), 1), 50: ((3, 4, 6, 3), 4)}[depth]
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for k in range(count):
            layers.append(Block(inputs, width, 2 if stage and not k else 1, expansion))
            inputs = width * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))
