"""Widgets on Textual's line API and the pure functions that lay out what they show."""
