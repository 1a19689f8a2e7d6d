"""What each task of the suite must look like, written down from the sources and not from the suite.

Input and output are shapes with dtypes where these are not float32; parameters count weights without
batch-norm statistics where the source states a number for the whole model.
"""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """Shapes and backends of one task."""

    id: str
    domains: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    output_dtype: str = "float32"
    megaparameters: float | None = None


EXPECTED = {
    "conv3x3_s2_stem_mnv2": Expected("L1-001", "MEA", ((1, 3, 224, 224),), ((1, 32, 112, 112),)),
    "conv10x4_s2_kws": Expected("L1-004", "MA", ((1, 1, 49, 10),), ((1, 64, 25, 5),)),
    "dw5x5_mnv3_small": Expected("L1-018", "MEA", ((1, 240, 14, 14),), ((1, 240, 14, 14),)),
    "pw_expand_mnv2": Expected("L1-028", "MEA", ((1, 16, 112, 112),), ((1, 96, 112, 112),)),
    "gemv_q_tinyllama": Expected("L1-048", "ME", ((1, 2048),), ((1, 2048),)),
    "gemm_qkv_deit": Expected("L1-054", "MEA", ((197, 192),), ((197, 576),)),
    "hardswish_mnv3": Expected("L1-068", "MEA", ((1, 240, 28, 28),), ((1, 240, 28, 28),)),
    "layernorm_deit": Expected("L1-082", "MEA", ((1, 197, 192),), ((1, 197, 192),)),
    "rmsnorm_prefill_qwen25": Expected("L1-085", "MEA", ((128, 896),), ((128, 896),)),
    "softmax_attn_deit": Expected("L1-093", "MEA", ((3, 197, 197),), ((3, 197, 197),)),
    "argmax_vocab_qwen": Expected("L1-100", "ME", ((1, 151936),), ((1,),), output_dtype="int64"),
    "channel_shuffle_g2": Expected("L1-107", "MEA", ((1, 116, 28, 28),), ((1, 116, 28, 28),)),
    "ir_mnv2_res_24": Expected("L2-133", "MEA", ((1, 24, 56, 56),), ((1, 24, 56, 56),)),
    "ir_se_hs_k5_mnv3s": Expected("L2-136", "MEA", ((1, 40, 14, 14),), ((1, 40, 14, 14),)),
    "fire_256_27": Expected("L2-146", "MEA", ((1, 128, 27, 27),), ((1, 256, 27, 27),)),
    "convnext_block_160": Expected("L2-161", "MEA", ((1, 160, 14, 14),), ((1, 160, 14, 14),)),
    "deit_tiny_attention": Expected("L2-181", "MEA", ((1, 197, 192),), ((1, 197, 192),)),
    "deit_tiny_mlp": Expected("L2-182", "MEA", ((1, 197, 192),), ((1, 197, 192),)),
    "gqa_prefill_attn_smollm2": Expected(
        "L2-187", "MEA", ((1, 9, 128, 64), (1, 3, 128, 64), (1, 3, 128, 64)), ((1, 9, 128, 64),)
    ),
    "dequant_int8_matmul_tinyllama": Expected("L2-192", "ME", ((1, 2048),), ((1, 5632),)),
    "residual_add_rmsnorm": Expected("L2-196", "M", ((128, 896), (128, 896)), ((128, 896), (128, 896))),
    "dscnn_block_kws": Expected("L2-206", "MA", ((1, 64, 25, 5),), ((1, 64, 25, 5),)),
    "imu_resblock1d": Expected("L2-259", "E", ((1, 128, 25),), ((1, 128, 25),)),
    "anymal_actor_mlp": Expected("L2-276", "E", ((1, 235),), ((1, 12),)),
    "mobilenet_v3_small_224": Expected(
        "L3-291", "MEA", ((1, 3, 224, 224),), ((1, 1000),), megaparameters=2.54
    ),
    "squeezenet1_1_224": Expected("L3-293", "MEA", ((1, 3, 224, 224),), ((1, 1000),), megaparameters=1.24),
    "dscnn_kws": Expected("L3-305", "MA", ((1, 1, 49, 10),), ((1, 12),)),
    "resnet8_cifar10": Expected("L3-307", "A", ((1, 3, 32, 32),), ((1, 10),)),
    "ad_autoencoder": Expected("L3-308", "A", ((16, 640),), ((16, 640),)),
    "tlio_resnet1d_200": Expected("L3-320", "E", ((1, 6, 200),), ((1, 3), (1, 3)), megaparameters=5.43),
}
