"""Simulated boards: trees of fake nodes and stand-in tools, served by real SSH. What they show is never measured.

A board is a folder. `proc`, `sys`, `etc`, `var` hold its nodes, `bin` what comes first on the PATH, `usr`,
`system` the tools with absolute names, `home/lab` the login folder; `etc/edgelab` belongs to the simulation:
`faults.json` (`faults.Faults`), `events/NAME` (`events.Event`), `state.json`, and marks for the tools.
`tree.create` makes one, `physics.settle` brings it up to now, `server.BoardServer` serves it by asyncssh and
`board_shell` behind OpenSSH, `launcher.ensure_running` finds or starts the process of the built-in lab.
"""
