"""GPU machine code as text, so that it can travel in the place of CUDA C++ inside a built library.

A machine without a GPU cannot load TVM's CUDA runtime, and TVM then writes kernels as source of the format
`cuda`. The device's runtime gives that text to `tvm_callback_cuda_compile` when it loads the library; there,
`decode` must be registered under that name. Python's standard library only: a device has no more.
"""

from __future__ import annotations

import base64

_MARK = "// EdgeLab: machine code in base64\n"


def encode(image: bytes) -> str:
    """The text that stands for a cubin."""
    return _MARK + base64.b64encode(image).decode()


def decode(text: str) -> bytes:
    """The cubin that `encode` made a text of. Raises ValueError for any other text."""
    if not text.startswith(_MARK):
        raise ValueError("the library holds CUDA source, not machine code; build it where nvcc is")
    return base64.b64decode(text[len(_MARK) :], validate=True)
