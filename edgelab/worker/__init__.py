"""What runs on a device: loads compiled programs, checks their outputs and times them in pairs.

Standard library, numpy and the TVM runtime only; nothing else of EdgeLab may be imported here, because
the folder is shipped to boards as one archive. Three kinds of processes, parent first:

- the *worker* (`service`) owns the protocol on stdin/stdout, compares outputs, alternates timing blocks
  and never runs candidate code;
- the *fork server* (`fork_server`) has numpy and TVM loaded and only forks and reaps;
- one *program child* (`program_child`) a loaded program, sandboxed, the only place candidate code runs.
"""

from __future__ import annotations

PROTOCOL_VERSION = 1
