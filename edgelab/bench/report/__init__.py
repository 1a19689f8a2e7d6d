"""Reports of what was measured: one frozen view, and how it becomes CSV and HTML."""
