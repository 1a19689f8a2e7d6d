"""Simulated boards: trees of fake nodes and stand-in tools, served by real SSH. What they show is never measured."""
