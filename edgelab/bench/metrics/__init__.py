"""Metrics of the EdgeKernelBench protocol over judged instances: pure functions, no input or output."""
