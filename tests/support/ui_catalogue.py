"""A small catalogue of tasks for the app's tests."""

from __future__ import annotations

from pathlib import Path

from edgelab.bench.tasks import TaskSpec

TASK = "pw_expand_mnv2"

OPERATOR_CLASSES = {
    "conv": "conv",
    "pointwise": "conv",
    "depthwise": "depthwise",
    "reduction": "reduction",
    "gemm": "dense",
}


def task(name: str, id: str, level: int, family: str, title: str, **constants: int) -> TaskSpec:
    return TaskSpec(
        name=name,
        id=id,
        level=level,
        family=family,
        title=title,
        domains="MEA",
        operator_class=OPERATOR_CLASSES.get(family, "composite"),
        provenance="torchvision mobilenetv2.py features.2",
        adapted="batch 1",
        path=Path(__file__).parent / "ui_tasks" / "pointwise.py",
        constants=constants,
    )


TASKS = (
    task("stem_conv_mnv2", "L1-001", 1, "conv", "Stem convolution", HEIGHT=224, WIDTH=224),
    task("dw3x3_mnv2", "L1-014", 1, "depthwise", "Depthwise convolution 3 x 3", IN_CHANNELS=96),
    task(
        TASK,
        "L1-028",
        1,
        "pointwise",
        "Pointwise convolution",
        IN_CHANNELS=16,
        OUT_CHANNELS=96,
        HEIGHT=112,
        WIDTH=112,
    ),
    task("softmax_vocab_32k", "L1-061", 1, "reduction", "Softmax over a vocabulary", WIDTH=32000),
    task(
        "dequant_matmul_2048x5632",
        "L1-092",
        1,
        "gemm",
        "int8 dequantise and matmul",
        IN_CHANNELS=2048,
        OUT_CHANNELS=5632,
    ),
    task("inverted_residual_mnv2", "L2-004", 2, "mobile", "MobileNetV2 inverted residual", IN_CHANNELS=24),
    task("fire_squeezenet", "L2-019", 2, "mobile", "SqueezeNet fire block", OUT_CHANNELS=16),
    task("squeezenet1_1", "L3-002", 3, "vision", "SqueezeNet 1.1, whole", HEIGHT=224, WIDTH=224),
)
