"""The tuned baseline: how long to search, what is kept, and how the result is built."""
