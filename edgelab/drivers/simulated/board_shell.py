"""A simulated board behind a real OpenSSH server: its ForceCommand runs this for every command and transfer.

    ForceCommand python -m edgelab.drivers.simulated.board_shell TREE

Time goes on between commands alone, and of the link's faults only the delay counts.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from edgelab.drivers.simulated.environment import HOME, environment
from edgelab.drivers.simulated.physics import settle

SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
)
"""Where Debian, Fedora, Arch and the BSDs keep it."""


def main(tree: Path) -> None:
    """Bring the board up to now and become the command that was asked for."""
    asked = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    faults = settle(tree).faults
    time.sleep(faults.delay_s)
    os.chdir(tree / HOME)
    if "sftp" in asked.split(" ")[0]:
        server = next((path for path in SFTP_SERVERS if Path(path).exists()), SFTP_SERVERS[0])
        os.execve(server, [server], environment(tree))
    os.execve("/bin/sh", ["sh", "-c", asked] if asked else ["sh"], environment(tree))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
