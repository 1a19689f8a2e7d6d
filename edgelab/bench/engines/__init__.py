"""Comparator engines: how a task runs in PyTorch, ONNX Runtime or MNN on this machine, timed like our programs.

The engine's libraries are imported in a child process only (`*_child.py`); everything else here is light.
"""
