"""EdgeLab: the control room of a physical edge lab."""

__version__ = "0.1.0"
