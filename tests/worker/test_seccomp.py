"""The filter program is run by a small interpreter, for both architectures, against what it should do."""

from __future__ import annotations

import errno
import struct

import pytest

from edgelab.worker import seccomp
from edgelab.worker.syscalls import NUMBERS, audit_architecture

ALLOWED = 0x7FFF0000
PID = 4711


def run(code: bytes, machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """Interpret the filter for one system call: 0 if it is allowed, else the errno."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number, arch or audit_architecture(machine), 0, *padded)
    accumulator, position = 0, 0
    while True:
        op, if_true, if_false, value = struct.unpack_from("=HBBI", code, position * 8)
        position += 1
        if op == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif op == 0x06:
            return 0 if value == ALLOWED else value & 0xFFFF
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[
                op
            ]
            position += if_true if holds else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def isolation(machine: str) -> bytes:
    return seccomp.assemble(seccomp.isolation_rules(PID), machine)


def test_refused_calls(machine: str, isolation: bytes):
    for name in (
        "socket",
        "connect",
        "execve",
        "ptrace",
        "process_vm_readv",
        "prctl",
        "setsid",
        "getdents64",
        "unlinkat",
    ):
        assert run(isolation, machine, NUMBERS[machine][name]) == errno.EPERM, name


def test_what_a_kernel_needs_is_allowed(machine: str, isolation: bytes):
    numbers = NUMBERS[machine]
    for name in ("mmap", "futex", "read", "write", "sched_yield", "readlinkat", "seccomp"):
        assert run(isolation, machine, numbers[name]) == 0, name


def test_signals_reach_only_the_process_itself(machine: str, isolation: bytes):
    numbers = NUMBERS[machine]
    for name in ("kill", "tgkill"):
        assert run(isolation, machine, numbers[name], PID, PID, 6) == 0
        for other in (PID + 1, 1, 0, 2**32 - 1):
            assert run(isolation, machine, numbers[name], other, PID, 6) == errno.EPERM


def test_clone_makes_threads_only(machine: str, isolation: bytes):
    numbers = NUMBERS[machine]
    assert run(isolation, machine, numbers["clone"], 0x3D0F00) == 0
    assert run(isolation, machine, numbers["clone"], 0x11) == errno.EPERM
    assert run(isolation, machine, numbers["clone3"]) == errno.ENOSYS


def test_files_open_for_reading_only(machine: str, isolation: bytes):
    openat = NUMBERS[machine]["openat"]
    assert run(isolation, machine, openat, 0, 0, 0o2000000) == 0
    for flags in (0o1, 0o2, 0o100, 0o1000):
        assert run(isolation, machine, openat, 0, 0, flags) == errno.EPERM


def test_limits_can_be_read_but_not_set(machine: str, isolation: bytes):
    prlimit = NUMBERS[machine]["prlimit64"]
    assert run(isolation, machine, prlimit, 0, 3, 0, 0x7FFF0000) == 0
    assert run(isolation, machine, prlimit, 0, 3, 0x7FFF0000) == errno.EPERM
    assert run(isolation, machine, prlimit, 0, 3, 1 << 40) == errno.EPERM


def test_rules_after_a_conditional_one_see_the_number_again(machine: str):
    numbers = NUMBERS[machine]
    rules = [seccomp.Rule("kill", argument=0, when="differs", value=PID), seccomp.Rule("socket")]
    code = seccomp.assemble(rules, machine)
    assert run(code, machine, numbers["socket"], PID) == errno.EPERM
    assert run(code, machine, numbers["kill"], PID) == 0


def test_loaded_programs_have_an_allow_list(machine: str):
    code = seccomp.assemble([], machine, seccomp.LOADED_CALLS)
    # Every number there is and some that a later kernel may add.
    passed = {number for number in range(1024) if run(code, machine, number) == 0}
    assert passed == {NUMBERS[machine][name] for name in seccomp.LOADED_CALLS if name in NUMBERS[machine]}
    for name in (
        "openat",
        "readlinkat",
        "seccomp",
        "clone",
        "clone3",
        "fcntl",
        "ioctl",
        "sched_setaffinity",
        "kill",
    ):
        assert NUMBERS[machine][name] not in passed, name
    for name in (
        "mmap",
        "futex",
        "sendto",
        "recvfrom",
        "ppoll",
        "tgkill",
        "exit_group",
        "writev",
        "rt_sigreturn",
    ):
        assert NUMBERS[machine][name] in passed, name


def test_every_allowed_call_has_a_number_somewhere():
    assert {name for name in seccomp.LOADED_CALLS if name not in NUMBERS["x86_64"]} == set()
    assert {name for name in seccomp.LOADED_CALLS if name not in NUMBERS["aarch64"]} == {"poll", "time"}


def test_rules_narrow_an_allow_list(machine: str):
    numbers = NUMBERS[machine]
    rules = [seccomp.Rule("tgkill", argument=0, when="differs", value=PID)]
    code = seccomp.assemble(rules, machine, ("tgkill", "close"))
    assert run(code, machine, numbers["tgkill"], PID) == 0
    assert run(code, machine, numbers["tgkill"], PID + 1) == errno.EPERM
    assert run(code, machine, numbers["close"], PID + 1) == 0
    assert run(code, machine, numbers["exit"]) == errno.EPERM


@pytest.mark.parametrize("command", [8, 10, 15, 1024, 1026])
def test_descriptors_cannot_be_made_to_signal_by_fcntl(machine: str, isolation: bytes, command: int):
    number = NUMBERS[machine]["fcntl"]
    assert run(isolation, machine, number, 3, command, PID) == errno.EPERM
    # The kernel looks at the low 32 bits of the command.
    assert run(isolation, machine, number, 3, (7 << 32) + command, PID) == errno.EPERM
    for harmless in (1, 2, 3, 4):
        assert run(isolation, machine, number, 3, harmless) == 0


@pytest.mark.parametrize("command", [0x8901, 0x8902, 0x5452, 0x5410, 0x5412])
def test_descriptors_cannot_be_made_to_signal_by_ioctl(machine: str, isolation: bytes, command: int):
    number = NUMBERS[machine]["ioctl"]
    assert run(isolation, machine, number, 3, command) == errno.EPERM
    assert run(isolation, machine, number, 3, 0x5401) == 0


def test_affinity_of_itself_only(machine: str, isolation: bytes):
    number = NUMBERS[machine]["sched_setaffinity"]
    assert run(isolation, machine, number, 0, 8, 0) == 0
    assert run(isolation, machine, number, PID + 1, 8, 0) == errno.EPERM


def test_other_architectures_and_x32_are_refused(isolation: bytes, machine: str):
    assert run(isolation, machine, NUMBERS[machine]["read"], arch=0x40000003) == errno.EPERM
    if machine == "x86_64":
        assert run(isolation, machine, 0x40000000 + NUMBERS[machine]["read"]) == errno.EPERM


def test_unknown_machines_are_not_supported():
    assert not seccomp.supported("riscv64")
    with pytest.raises(KeyError):
        seccomp.assemble([], "riscv64")
