"""The tuning side of a baseline: what searches schedules. All but `protocol` and `client` imports tvm: children only."""
