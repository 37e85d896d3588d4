"""A network that has none but the loopback address, for programs that listen on all addresses.

`python loopback.py COMMAND ...` runs a command where `alone` has made one.
"""

import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys

import pytest

# Linux's namespaces of users, networks and processes: all that the command has begun ends with it.
_APART = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def alone(*command: str) -> list[str]:
    """The command as it is run in such a network; a test is skipped where there is none."""
    if shutil.which("unshare") is None or subprocess.run([*_APART, "true"], capture_output=True).returncode:
        pytest.skip(
            "the program listens on all addresses, and this system makes no network (unshare) that has one address only"
        )
    return [*_APART, sys.executable, __file__, *command]


def main() -> None:
    interfaces = [line.partition(":")[0].strip() for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]]
    assert interfaces == ["lo"], interfaces
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        set_flags, up = 0x8914, 1  # SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(s, set_flags, struct.pack("16sh14x", b"lo", up))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
