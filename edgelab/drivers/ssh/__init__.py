"""Devices over SSH: the link, its host keys, remote commands whose processes end with it, the worker."""
