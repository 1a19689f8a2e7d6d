"""The transport over real SSH, against boards served by asyncssh and against a real OpenSSH server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import msgspec
import pytest

from edgelab.drivers import board_lease
from edgelab.drivers.board_lease import lease_command, read_lease
from edgelab.drivers.device_state import LeaseHolder
from edgelab.drivers.probe import Command, ProbeRequest
from edgelab.drivers.simulated import faults as fault_file
from edgelab.drivers.ssh import link as link_module
from edgelab.drivers.ssh.address import SshAddress
from edgelab.drivers.ssh.transport import SshTransport
from edgelab.drivers.transport import LeaseHeld, LinkFailure
from edgelab.errors import EvaluationFailure, NotReadyError
from tests.support.boards import proxied, served
from tests.support.openssh import free_port, needs_openssh, openssh, write_key

pytestmark = pytest.mark.integration
HOLDER = LeaseHolder(owner="ann@desk", purpose="run r7", pid=7, since_s=1.5)


@contextlib.asynccontextmanager
async def connected(address: SshAddress, **options: object) -> AsyncIterator[SshTransport]:
    transport = await SshTransport.connect(address, **options)  # type: ignore[arg-type]
    try:
        yield transport
    finally:
        await transport.close()


@contextlib.asynccontextmanager
async def way_in(kind: str, folder: Path) -> AsyncIterator[SshAddress]:
    if kind == "asyncssh":
        async with served(folder / "board") as board:
            yield board.address
        return
    with openssh(folder / "sshd") as server:
        yield SshAddress(
            device="loopback", host="127.0.0.1", port=server.port, user=server.user, key=str(server.key),
            known_hosts=str(server.known_hosts), lease=str(folder / "lease"), config=None,
        )  # fmt: skip


@pytest.fixture(params=["asyncssh", pytest.param("openssh", marks=needs_openssh)])
async def address(request, tmp_path) -> AsyncIterator[SshAddress]:
    async with way_in(request.param, tmp_path) as found:
        yield found


async def test_a_probe_brings_files_and_commands_together(address):
    request = ProbeRequest(
        files=("/proc/uptime", "/proc/no-such-file", "/proc/sys/kernel/random/*id"),
        commands=(
            Command(name="df", argv=("df", "-Pk", ".")),
            Command(name="fails", argv=("sh", "-c", "echo why; exit 3")),
            Command(name="hangs", argv=("sleep", "60"), time_limit_s=0.2),
            Command(name="root", argv=("sh", "-c", "echo from root"), root=True),
        ),
    )
    async with connected(address) as board:
        reply = await board.probe(request)
    assert b"." in reply.files["/proc/uptime"]
    assert "/proc/no-such-file" not in {*reply.files, *reply.refused}
    assert "/proc/sys/kernel/random/boot_id" in reply.files
    assert (reply.outputs["fails"].exit_code, reply.outputs["fails"].output) == (3, b"why\n")
    assert reply.outputs["hangs"].exit_code is None
    assert reply.outputs["root"].output == b"from root\n"
    assert b"%" in reply.outputs["df"].output
    assert abs(reply.board_time_s - time.time()) < 60


async def test_a_command_gets_its_input_and_its_streams_apart(address):
    async with connected(address) as board:
        done = await board.run(("sh", "-c", "cat; echo oops >&2; exit 5"), 10, stdin=b"a\xff\nb")
    assert (done.exit_code, done.stdout, done.stderr) == (5, b"a\xff\nb", b"oops\n")


def processes_with(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(folder.name)
    return [pid for pid in found if pid != str(os.getpid())]


async def gone(mark: str) -> None:
    async with asyncio.timeout(5):
        while processes_with(mark):  # noqa: ASYNC110 - another process's end has no event here
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("root", [False, True])
async def test_a_hung_command_is_killed_with_its_children(address, root):
    mark = f"77.{time.time_ns()}"
    async with connected(address) as board:
        with pytest.raises(EvaluationFailure, match=r"did not end within 0\.5 s"):
            await board.run(("sh", "-c", f"sleep {mark} & sleep {mark}"), 0.5, root=root)
        await gone(f"sleep {mark}")
        assert (await board.run(("echo", "still here"), 5)).stdout == b"still here\n"


async def test_a_cancelled_command_is_killed(address):
    mark = f"78.{time.time_ns()}"
    async with connected(address) as board:
        task = asyncio.create_task(board.run(("sleep", mark), 60))
        async with asyncio.timeout(5):
            while not processes_with(f"sleep {mark}"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone(f"sleep {mark}")


async def test_files_are_read_exactly_and_replaced_whole(address):
    async with connected(address) as board:
        await board.write(".edgelab/note", b"one\xff\n\ntwo")
        await board.write(".edgelab/empty", b"")
        found = await board.read_many([".edgelab/note", ".edgelab/empty", ".edgelab/absent", "/proc"])
    assert found == {
        ".edgelab/note": b"one\xff\n\ntwo",
        ".edgelab/empty": b"",
        ".edgelab/absent": None,
        "/proc": None,
    }


async def test_blobs_are_sent_once(address, tmp_path):
    big = tmp_path / "big"
    big.write_bytes(os.urandom(5 << 20))
    seen: list[tuple[int, int]] = []
    async with connected(address) as board:
        digest = await board.put(big, progress=lambda done, total: seen.append((done, total)))
        assert seen[-1] == (5 << 20, 5 << 20)
        assert (await board.run(("sha256sum", f".edgelab/blobs/{digest}"), 10)).stdout.split()[
            0
        ].decode() == digest
    async with connected(address) as board:
        seen.clear()
        assert await board.put(big, progress=lambda done, total: seen.append((done, total))) == digest
        assert seen == []


async def test_an_upload_goes_on_where_it_was_and_a_damaged_rest_is_found(tmp_path):
    content = os.urandom(6 << 20)
    big = tmp_path / "big"
    big.write_bytes(content)
    async with served(tmp_path / "board") as board:
        digest = hashlib.sha256(content).hexdigest()
        part = board.tree / "home/lab/.edgelab/blobs" / f".part-{digest}"
        part.parent.mkdir(parents=True)
        part.write_bytes(content[: 4 << 20])
        sent: list[int] = []
        async with connected(board.address) as transport:
            await transport.put(big, progress=lambda done, total: sent.append(done))
        assert sent[0] > 4 << 20
        assert (part.parent / digest).read_bytes() == content
        (part.parent / digest).unlink()
        part.write_bytes(b"x" * (4 << 20))
        async with connected(board.address) as transport:
            with pytest.raises(EvaluationFailure, match="damaged"):
                await transport.put(big)
            assert not part.exists()
            assert await transport.put(big) == digest


async def test_a_lease_names_its_holder_and_falls_with_it(address):
    async with connected(address) as one, connected(address) as other:
        command = lease_command(address.lease)

        async def state():
            reply = await other.probe(ProbeRequest(commands=(command,)))
            return read_lease(reply.outputs["lease"])

        assert (await state())[0] is True
        async with one.lease(HOLDER):
            assert await state() == (False, HOLDER)
            with pytest.raises(LeaseHeld) as held:
                async with other.lease(HOLDER):
                    raise AssertionError("must not be reached")
            assert held.value.holder == HOLDER
        assert (await state())[0] is True
        async with other.lease(msgspec.structs.replace(HOLDER, owner="bob@desk")):
            assert (await state())[1].owner == "bob@desk"


async def test_a_lease_makes_the_folder_it_lies_in(tmp_path):
    async with served(tmp_path, "snapdragon-8-gen-3") as board:
        address = msgspec.structs.replace(board.address, lease=".edgelab/lease")
        async with connected(address) as one, one.lease(HOLDER):
            assert (board.tree / "home/lab/.edgelab/lease").exists()


async def test_a_controller_that_falls_silent_loses_its_lease(tmp_path, monkeypatch):
    monkeypatch.setattr(board_lease, "SILENCE_LIMIT_S", 1.0)
    async with served(tmp_path) as board, proxied(board.server.port) as proxy:
        by_proxy = msgspec.structs.replace(
            board.address, port=proxy.port, known_hosts=trusting(tmp_path, proxy.port, board)
        )
        async with connected(by_proxy) as one, connected(board.address) as other:
            with contextlib.suppress(LinkFailure):
                async with one.lease(HOLDER):
                    proxy.silence()
                    async with asyncio.timeout(8):
                        while True:
                            try:
                                async with other.lease(HOLDER):
                                    break
                            except LeaseHeld:
                                await asyncio.sleep(0.1)


def trusting(folder: Path, port: int, board) -> str:
    """Return a known-hosts file that knows the board's key at another port."""
    path = folder / f"known-{port}"
    path.write_text(
        Path(board.address.known_hosts).read_text().replace(f":{board.server.port} ", f":{port} ")
    )
    return str(path)


@pytest.mark.parametrize("how", ["silence", "cut"])
async def test_a_dead_link_is_noticed_within_five_seconds(tmp_path, how):
    async with served(tmp_path) as board, proxied(board.server.port) as proxy:
        by_proxy = msgspec.structs.replace(
            board.address, port=proxy.port, known_hosts=trusting(tmp_path, proxy.port, board)
        )
        async with connected(by_proxy) as transport:
            task = asyncio.create_task(transport.run(("sleep", "60"), 60))
            await transport.run(("true",), 5)
            began_s = time.monotonic()
            getattr(proxy, how)()
            with pytest.raises(LinkFailure) as lost:
                await task
            assert lost.value.problem == "lost"
            assert time.monotonic() - began_s < 5


async def failure(address: SshAddress, **options: object) -> LinkFailure:
    with pytest.raises(LinkFailure) as caught:
        async with connected(address, **options):
            raise AssertionError("must not be reached")
    assert caught.value.message
    assert caught.value.advice
    return caught.value


async def test_every_way_in_that_fails_is_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(link_module, "CONNECT_LIMIT_S", 2.0)
    async with served(tmp_path) as board:

        def changed(**changes: object) -> SshAddress:
            return msgspec.structs.replace(board.address, **changes)

        empty = tmp_path / "none"
        assert (await failure(changed(known_hosts=str(empty)))).problem == "unknown_host_key"
        wrong = tmp_path / "wrong"
        other = write_key(tmp_path / "other")
        wrong.write_bytes(f"[127.0.0.1]:{board.server.port} ".encode() + other.export_public_key())
        assert (await failure(changed(known_hosts=str(wrong)))).problem == "changed_host_key"
        assert (await failure(changed(port=free_port()))).problem == "refused"
        assert (await failure(changed(host="no-such-host.invalid"))).problem == "name"
        assert (await failure(changed(key=str(tmp_path / "other")))).problem == "login"
        missing = await failure(changed(key=str(tmp_path / "missing")))
        assert missing.problem == "login"
        assert "missing" in missing.message
        (tmp_path / "text").write_text("no key")
        assert (await failure(changed(key=str(tmp_path / "text")))).problem == "login"
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    assert (await failure(changed(port=port))).problem == "timeout"
    silent.close()


async def test_a_new_key_is_written_down_when_the_operator_trusts_it(tmp_path):
    async with served(tmp_path) as board:
        known = tmp_path / "new" / "known_hosts"
        address = msgspec.structs.replace(board.address, known_hosts=str(known))
        async with connected(address, trust_new_key=True):
            pass
        async with connected(address):
            pass
        assert known.read_text().count("\n") == 1
        assert known.stat().st_mode & 0o777 == 0o600


async def test_sudo_that_refuses_is_a_problem_of_its_own(tmp_path):
    async with served(tmp_path, sudo="denied") as board, connected(board.address) as transport:
        with pytest.raises(LinkFailure) as refused:
            await transport.run(("true",), 5, root=True)
        assert refused.value.problem == "sudo"
        assert "sudoers" in refused.value.message
        reply = await transport.probe(ProbeRequest(commands=(Command(name="x", argv=("true",), root=True),)))
        assert "sudoers" in reply.sudo_problem
        assert reply.outputs == {}


async def test_a_sudo_password_goes_to_sudo_alone(tmp_path, caplog):
    secret = "s3cret-pass"
    async with served(tmp_path, sudo=f"password:{secret}") as board:
        address = msgspec.structs.replace(board.address, sudo="password")
        async with connected(address, password=secret) as transport:
            done = await transport.run(
                ("sh", "-c", "cat /proc/$PPID/cmdline /proc/self/environ; cat"), 5, root=True, stdin=b"in"
            )
            assert done.stdout.endswith(b"in")
            assert secret.encode() not in done.stdout
            await transport.write("/sys/class/devfreq/fb000000.gpu/min_freq", b"400000000", root=True)
        async with connected(address, password="wrong-one") as transport:
            with pytest.raises(LinkFailure) as refused:
                await transport.run(("true",), 5, root=True)
            assert "incorrect" in refused.value.message
            assert "wrong-one" not in str(refused.value) + refused.value.detail
    assert secret not in caplog.text


async def test_a_device_without_sudo_is_never_asked(tmp_path):
    async with served(tmp_path) as board:
        address = msgspec.structs.replace(board.address, sudo="none")
        async with connected(address) as transport:
            with pytest.raises(LinkFailure, match="has no sudo"):
                await transport.run(("true",), 5, root=True)


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        ({"cut_bytes": 40}, "other"),
        ({"garbage_bytes": 10 << 20}, ""),
        ({"odd_bytes": True, "dangling": True}, ""),
    ],
)
async def test_strange_replies(tmp_path, faults, problem):
    async with served(tmp_path) as board, connected(board.address) as transport:
        board.set(**faults)
        request = ProbeRequest(files=("/proc/device-tree/model", "/sys/class/thermal/*/temp", "/proc/uptime"))
        if problem:
            with pytest.raises(LinkFailure, match="was cut after") as cut:
                await transport.probe(request)
            assert cut.value.problem == problem
        else:
            reply = await transport.probe(request)
            assert "/proc/uptime" in reply.files
            assert not any("zone90" in path for path in reply.files)
        fault_file.write(board.tree, fault_file.Faults())
        assert (await transport.probe(request)).files


async def test_a_full_disk_is_told_in_the_boards_words(tmp_path):
    async with served(tmp_path, free_disk_kib=0) as board, connected(board.address) as transport:
        with pytest.raises(EvaluationFailure, match="No space left on device"):
            await transport.put(b"x" * 100)
        with pytest.raises(EvaluationFailure, match="No space left on device"):
            await transport.write(".edgelab/saved.json", b"{}")


async def test_a_board_without_runtime_says_what_to_do(tmp_path):
    async with served(tmp_path) as board, connected(board.address) as transport:
        with pytest.raises(NotReadyError, match="has no runtime") as missing:
            await transport.start_worker(tmp_path / "archive.pyz")
        assert "edgelab devices bootstrap" in missing.value.advice


def joined(path: Path, *parts: str | Path) -> Path:
    path.write_bytes(b"\n".join(Path(part).read_bytes() for part in parts))
    return path


@needs_openssh
async def test_jump_hosts(tmp_path):
    with openssh(tmp_path / "gate") as gate:
        async with served(tmp_path / "board") as board:
            both = await asyncio.to_thread(
                joined, tmp_path / "both", board.address.known_hosts, gate.known_hosts
            )
            public = asyncssh.read_private_key(board.address.key).export_public_key()
            (gate.key.parent / "authorized").write_bytes(public)
            jump = f"{gate.user}@127.0.0.1:{gate.port}"
            address = msgspec.structs.replace(board.address, jump=jump, known_hosts=str(both))
            async with connected(address) as transport:
                assert (await transport.run(("echo", "through"), 5)).stdout == b"through\n"


@needs_openssh
async def test_an_alias_of_the_ssh_config(tmp_path):
    with openssh(tmp_path / "sshd") as server:
        config = tmp_path / "config"
        config.write_text(
            f"Host bench\n HostName 127.0.0.1\n Port {server.port}\n User {server.user}\n"
            f" IdentityFile {server.key}\n UserKnownHostsFile {server.known_hosts}\n"
        )
        address = SshAddress(device="bench", host="bench", config=str(config))
        async with connected(address) as transport:
            assert (await transport.run(("echo", "alias"), 5)).stdout == b"alias\n"


async def test_more_commands_than_channels_wait_for_each_other(address):
    async with connected(address) as board, asyncio.TaskGroup() as group:
        tasks = [group.create_task(board.run(("echo", str(number)), 20)) for number in range(20)]
    assert [int(task.result().stdout) for task in tasks] == list(range(20))
