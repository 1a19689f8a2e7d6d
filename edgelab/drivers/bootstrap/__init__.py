"""Puts a worker runtime on a board that has neither network nor compiler: a venv with numpy and TVM's runtime."""
