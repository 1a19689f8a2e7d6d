"""Families of devices: what to read of each, how to judge it, how to lock its clocks and to restore them."""
