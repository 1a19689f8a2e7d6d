"""Runs: the detached process that does the work, its folder, journal and lock; the UI only reads."""
