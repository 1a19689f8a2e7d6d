"""The lab: which devices there are and what state the local machine is in."""
