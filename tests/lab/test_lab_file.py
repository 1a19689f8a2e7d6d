"""lab.toml: what is accepted, and that every mistake names file, line and key."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelab.errors import UsageError
from edgelab.kernel.opencl import presence
from edgelab.lab.add_device import add_device, with_device
from edgelab.lab.inventory import lab_devices, lab_path
from edgelab.lab.lab_file import Entry, parse_lab

GOOD = """\
# our lab
[[device]]
name = "orin"
profile = "jetson-agx-orin-64gb"
host = "orin.lab"

[[device]]   # on the second shelf
name = "rock"
profile = "rk3588"
host = "10.0.0.7"
port = 2222
user = "lab"
key = "keys/rock"
sudo = "password"
"""
WHERE = Path("/lab/lab.toml")


def test_devices_in_the_files_order():
    orin, rock = parse_lab(GOOD, WHERE)
    assert (orin.name, orin.backend, orin.sudo, orin.simulated) == ("orin", "cuda", "passwordless", False)
    assert (rock.port, rock.user, rock.key, rock.sudo) == (2222, "lab", "/lab/keys/rock", "password")


def test_a_simulated_device_can_be_named():
    (device,) = parse_lab('[[device]]\nname="x"\nprofile="rk3588"\nhost="simulated"\n', WHERE)
    assert (device.simulated, device.host) == (True, "")


@pytest.mark.parametrize(
    ("profile", "lacking", "backend"),
    [("rk3588", None, "opencl"), ("rk3588", "g++", "llvm"), ("jetson-agx-orin-64gb", None, "llvm")],
)
def test_kernels_of_a_simulated_board_run_by_opencl_where_that_is_installed(
    monkeypatch: pytest.MonkeyPatch, profile: str, lacking: str | None, backend: str
):
    monkeypatch.setattr(presence, "missing", lambda: lacking)
    (device,) = parse_lab(f'[[device]]\nname="x"\nprofile="{profile}"\nhost="simulated"\n', WHERE)
    assert device.backend == backend


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("port = 2222", 'port = "x"', 11, "port: expected `int | null`, got `str`"),
        ("port = 2222", "port = 0", 11, "port: expected an integer between 1 and 65535"),
        ("port = 2222", "porrt = 2222", 11, "porrt: there is no such key; did you mean 'port'?"),
        ('name = "rock"', 'name = "orin"', 8, "name: a device 'orin' is there already"),
        ('name = "rock"', 'name = "local"', 8, "name: 'local' is this machine"),
        ('name = "rock"', 'name = "a b"', 8, "name: letters, digits"),
        ('name = "rock"', "", 7, "name: it is missing"),
        (
            'profile = "rk3588"',
            'profile = "rk3566"',
            9,
            "profile: there is no profile 'rk3566'; nearest: rk3588",
        ),
        ('host = "10.0.0.7"', 'host = "-oProxyCommand=x"', 10, "host: expected a host name"),
        ('host = "10.0.0.7"', 'host = ""', 10, "host: expected a host name"),
        ('sudo = "password"', 'sudo = "please"', 14, "sudo: invalid enum value"),
        ("# our lab", "[devices]", 1, "devices: there is no key 'devices' here"),
    ],
)
def test_mistakes_name_file_line_and_key(old: str, new: str, line: int, said: str):
    for padding in (0, 3):
        with pytest.raises(UsageError) as caught:
            parse_lab("\n" * padding + GOOD.replace(old, new), WHERE)
        assert caught.value.message.startswith(f"/lab/lab.toml line {line + padding}: {said}"), (
            caught.value.message
        )


@pytest.mark.parametrize("text", ["device = 3", "device = [3]", "[device]\nname='x'", "[[device]", "x = '"])
def test_what_is_no_lab_is_refused(text: str):
    with pytest.raises(UsageError, match=r"lab\.toml"):
        parse_lab(text, WHERE)


@given(
    st.text(max_size=80)
    | st.builds(lambda part, at: GOOD[:at] + part + GOOD[at:], st.text(max_size=9), st.integers(0, 250))
)
def test_any_text_is_a_lab_or_a_usage_error(text: str):
    with contextlib.suppress(UsageError):
        parse_lab(text, WHERE)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        lab_devices(tmp_path / "absent.toml")
    (tmp_path / "lab.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        lab_devices(tmp_path / "lab.toml")


def test_this_machine_comes_first(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text(GOOD)
    assert [device.name for device in lab_devices(path)] == ["local", "orin", "rock"]


def test_which_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("EDGELAB_LAB", raising=False)
    assert lab_path() is None
    own = tmp_path / "edgelab" / "lab.toml"
    own.parent.mkdir()
    own.write_text(GOOD)
    assert lab_path() == own
    monkeypatch.setenv("EDGELAB_LAB", "/other.toml")
    assert lab_path() == Path("/other.toml")
    assert lab_path("/third.toml") == Path("/third.toml")


def test_adding_keeps_what_was_written(tmp_path):
    path = tmp_path / "deep" / "lab.toml"
    entry = Entry(name="nano", profile="jetson-orin-nano", host="nano.lab", port=2200)
    assert add_device(path, entry).port == 2200
    path.write_text(GOOD)
    add_device(path, entry)
    text = path.read_text()
    assert text.startswith(GOOD.rstrip())
    assert [device.name for device in lab_devices(path)] == ["local", "orin", "rock", "nano"]
    assert "sudo" not in text.partition("nano")[2]
    with pytest.raises(UsageError, match="is there already"):
        add_device(path, entry)
    assert path.read_text() == text


def test_a_wrong_entry_changes_nothing():
    with pytest.raises(UsageError, match="no profile"):
        with_device(GOOD, Entry(name="x", profile="nope", host="h"), WHERE)
