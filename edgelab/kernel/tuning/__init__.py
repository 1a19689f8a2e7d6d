"""What searches schedules for the tuned baseline. All but `protocol` and `client` imports tvm: children only."""
