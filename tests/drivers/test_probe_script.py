"""The script is run by every shell and set of tools that this machine has; the parser is fed damaged replies."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.drivers.probe import Command
from edgelab.drivers.probe_script import (
    OUTPUT_LIMIT_BYTES,
    ProbeCut,
    Sections,
    argv_under,
    merged,
    parse,
    script,
)

NONCE = "0123456789abcdef"
SHELLS = ("dash", "bash --posix", "busybox sh")


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    words = request.param.split()
    found = shutil.which(words[0])
    if found is None:
        pytest.skip(f"this machine has no {words[0]}")
    if words[0] == "busybox":
        # Its own grep, timeout, head and date, as on a board that has nothing else.
        tools = tmp_path / "tools"
        tools.mkdir()
        subprocess.run([found, "--install", "-s", str(tools)], check=True)
        monkeypatch.setenv("PATH", str(tools))
        return [str(tools / "sh")]
    return words


def look(
    shell: list[str],
    patterns: tuple[str, ...],
    *commands: Command,
    root: str = "",
    folder: Path | None = None,
) -> Sections:
    text = script(patterns, commands, nonce=NONCE, root=root)
    reply = subprocess.run([*shell, "-c", text], capture_output=True, timeout=20, cwd=folder)
    assert reply.stderr == b""
    return parse(reply.stdout, patterns, nonce=NONCE, root=root)


def board(folder: Path) -> Path:
    for core in (0, 3, 9):
        node = folder / f"sys/cpu{core}/cur_freq"
        node.parent.mkdir(parents=True)
        node.write_text(f"{core}00\n")
    (folder / "sys/cpuidle").mkdir()
    (folder / "sys/cpuidle/cur_freq").write_text("no core\n")
    return folder


def test_files_come_back_under_their_own_paths(shell: list[str], tmp_path: Path):
    tree = board(tmp_path / "a board")
    (tree / "sys/odd").write_bytes(b"\xff\xfe: x\n\nnul\0nul\nlast")
    (tree / "sys/gone").symlink_to("nowhere")
    (tree / "home").mkdir()
    (tree / "home/own").write_text("mine\n")
    patterns = ("/sys/cpu[0-9]/cur_freq", "/sys/odd", "/sys/gone", "/sys/cpu?/none*", "own", "/sys")
    found = look(shell, patterns, root=str(tree), folder=tree / "home")
    assert found.files == {
        "/sys/cpu0/cur_freq": b"000\n",
        "/sys/cpu3/cur_freq": b"300\n",
        "/sys/cpu9/cur_freq": b"900\n",
        "/sys/odd": b"\xff\xfe: x\n\nnul\0nul\nlast\n",
        "own": b"mine\n",
    }
    assert found.refused == {}
    assert found.board_time_s is not None
    assert abs(found.board_time_s - time.time()) < 30


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that opens but cannot be read")
def test_a_file_that_cannot_be_read_says_why(shell: list[str]):
    found = look(shell, ("/proc/self/mem", "/proc/uptime"))
    # BusyBox's grep says nothing of a file that opens but cannot be read; then it is absent, not empty.
    if "tools" not in shell[0]:
        assert found.refused["/proc/self/mem"]
    assert "/proc/self/mem" not in found.files
    assert "/proc/uptime" in found.files


def test_commands_are_limited_in_time_and_length(shell: list[str]):
    found = look(
        shell,
        (),
        Command(name="fails", argv=("sh", "-c", "echo out; echo err >&2; exit 3")),
        Command(name="hangs", argv=("sh", "-c", "echo begun; sleep 30"), time_limit_s=1),
        Command(name="floods", argv=("head", "-c", "10000000", "/dev/zero")),
        Command(name="absent", argv=("no-such-tool-here",)),
        Command(name="reads", argv=("cat",)),
        Command(name="quotes", argv=("echo", "it's; $HOME `x`")),
    )
    outputs = found.outputs
    assert (outputs["fails"].exit_code, outputs["fails"].output) == (3, b"out\nerr\n")
    assert outputs["hangs"].exit_code is None
    # BusyBox's shell adds that its child was terminated.
    assert outputs["hangs"].output.startswith(b"begun\n")
    assert outputs["floods"].output == bytes(OUTPUT_LIMIT_BYTES)
    assert outputs["absent"].exit_code in (126, 127)
    assert (outputs["reads"].exit_code, outputs["reads"].output) == (0, b"")
    assert outputs["quotes"].output == b"it's; $HOME `x`\n"


def test_a_load_in_the_background_is_ended_with_the_look(shell: list[str], tmp_path: Path):
    pid = tmp_path / "pid"
    load = Command(
        name="load", argv=("sh", "-c", f"echo $$ >{pid}; exec sleep 60"), background=True, time_limit_s=60
    )
    seen = Command(name="seen", argv=("cat", str(pid)))
    began_s = time.monotonic()
    found = look(shell, (), load, seen)
    assert time.monotonic() - began_s < 15
    assert found.outputs["seen"].output == pid.read_bytes()
    assert found.outputs["load"].exit_code is None
    assert not Path(f"/proc/{int(pid.read_text())}/environ").exists()


@pytest.mark.parametrize(
    "pattern", ["/sys/$(reboot)", "/sys/a b", "/sys/`x`", "/sys/x;y", "/sys/x\ny", "/sys/~"]
)
def test_a_pattern_that_a_shell_would_take_for_more_is_refused(pattern: str):
    with pytest.raises(ValueError, match="no pattern"):
        script((pattern,), (), nonce=NONCE)


def test_only_the_program_of_a_command_lies_under_the_root():
    assert argv_under("/board/", ("/bin/cat", "/etc/x")) == ["/board/bin/cat", "/etc/x"]
    assert argv_under("/board", ("cat", "/etc/x")) == ["cat", "/etc/x"]
    assert argv_under("", ("/bin/cat",)) == ["/bin/cat"]


def test_the_clock_of_the_first_part_that_has_one_counts():
    parts = [
        Sections({}, {}, {}, None),
        Sections({"a": b"1"}, {}, {}, 5.0),
        Sections({"b": b"2"}, {}, {}, 6.0),
    ]
    whole = merged(parts)
    assert (whole.files, whole.board_time_s) == ({"a": b"1", "b": b"2"}, 5.0)


PATTERNS = ("/sys/cpu[0-9]/cur_freq", "/etc/*", "own")


def whole_reply(folder: Path) -> bytes:
    text = script(("/etc/host*",), (Command(name="echo", argv=("echo", "hello")),), nonce=NONCE)
    return subprocess.run(["sh", "-c", text], capture_output=True, timeout=20, cwd=folder).stdout


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return whole_reply(tmp_path_factory.mktemp("reply"))


def test_a_reply_that_lacks_its_end_is_cut_wherever_it_was_cut(reply: bytes):
    end = reply.rindex(f"{NONCE} end".encode())
    for length in range(end):
        with pytest.raises(ProbeCut) as cut:
            parse(reply[:length], ("/etc/host*",), nonce=NONCE)
        assert cut.value.received == length


WORDS = (
    "time",
    "files",
    "refused",
    "command x",
    "status 0",
    "status ²",
    "status 9999",
    "background x",
    "end",
    "",
)
pieces = st.one_of(
    st.sampled_from(WORDS).map(lambda word: f"\n{NONCE} {word}\n".encode()),
    st.sampled_from(
        [b"/sys/cpu1/cur_freq:7\n", b"grep: /etc/x: no\n", b"9" * 5000, b"1e999", b"own:", b":", b"\n"]
    ),
    st.binary(max_size=30),
)


@given(st.lists(pieces, max_size=25).map(b"".join))
def test_a_damaged_reply_is_cut_or_read_but_never_a_crash(damaged: bytes):
    try:
        found = parse(damaged, PATTERNS, nonce=NONCE, root="")
    except ProbeCut:
        return
    for path in found.files:
        assert re.fullmatch(r"/sys/cpu[0-9]/cur_freq|/etc/[^/\n]*|own", path)
    for output in found.outputs.values():
        assert output.exit_code is None or 0 <= output.exit_code < 1000
    assert found.board_time_s is None or 0 <= found.board_time_s < 1e12


@given(
    st.dictionaries(st.integers(0, 9), st.binary(max_size=60).filter(lambda text: NONCE.encode() not in text))
)
def test_what_grep_prints_is_put_together_again(nodes: dict[int, bytes]):
    printed = b"".join(
        f"/board/sys/cpu{core}/cur_freq:".encode() + line + b"\n"
        for core, text in nodes.items()
        for line in text.split(b"\n")
    )
    body = f"\n{NONCE} files\n".encode() + printed + f"\n{NONCE} end\n".encode()
    found = parse(body, PATTERNS, nonce=NONCE, root="/board")
    assert found.files == {f"/sys/cpu{core}/cur_freq": text + b"\n" for core, text in nodes.items()}
