"""How EdgeLab reaches a device: transports, and the client of the worker that runs there."""
