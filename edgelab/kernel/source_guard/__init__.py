"""Admits edited target source (level 2) before any compiler's parser sees it.

One module a language: `llvm_ir`, `cuda`, `opencl`. Each compares the edit with the source that the adapter
generated: the interface must be the same, and what the edit adds must be on the language's allow-list. It is one
layer; the compiler still runs in a disposable child, and the kernel in a confined one.
"""

from __future__ import annotations
