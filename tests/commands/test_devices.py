"""`edgelab devices` on the built-in lab's simulated boards, which are served by real SSH on loopback."""

from __future__ import annotations

import json

import pytest

from edgelab.drivers.simulated import faults, launcher
from edgelab.drivers.simulated.faults import Faults
from edgelab.errors import ExitCode
from tests.support.cli import Cli

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cli(tmp_path_factory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("devices") / "home")
    yield cli
    launcher.stop(cli.home.root / "simulated")
    assert not launcher.is_running(cli.home.root / "simulated")


@pytest.fixture
def faulty(cli):
    """Switch faults of a board, and all of them off afterwards."""
    touched = []

    def switch(name: str, **changes: object) -> None:
        tree = cli.home.root / "simulated" / "boards" / name
        touched.append(tree)
        faults.write(tree, Faults(**changes))

    yield switch
    for tree in touched:
        faults.write(tree, Faults())


def test_check_lock_restore(cli):
    before = cli("devices", "check", "sim-orin", "--json")
    assert before.returncode == ExitCode.NOT_READY
    report = json.loads(before.stdout)
    assert (report["schema"], report["device"], report["ready"]) == ("edgelab.check/1", "sim-orin", False)
    assert report["simulated"]
    checks = {check["name"]: check for check in report["checks"]}
    assert checks["power_mode"]["ok"] is False
    assert checks["power_mode"]["wanted"] == "MAXN"
    assert checks["power_mode"]["evidence"]["source"]
    locked = cli("devices", "lock", "sim-orin")
    assert (locked.returncode, locked.stdout.splitlines()[0]) == (0, "sim-orin: locked and confirmed")
    assert cli("devices", "check", "sim-orin").returncode == 0
    watched = cli("devices", "watch", "sim-orin", "--seconds", "1")
    assert watched.returncode == 0
    assert "locked" in watched.stdout
    restored = cli("devices", "restore", "sim-orin", "--json")
    assert (restored.returncode, json.loads(restored.stdout)["restored"]) == (0, True)
    assert cli("devices", "check", "sim-orin").returncode == ExitCode.NOT_READY
    again = cli("devices", "restore", "sim-orin")
    assert (again.returncode, "nothing to put back" in again.stdout) == (0, True)


def test_all_devices_at_once(cli):
    report = json.loads(cli("devices", "check", "--all", "--json").stdout)
    assert report["schema"] == "edgelab.checks/1"
    names = [device["device"] for device in report["devices"]]
    assert names == ["local", "sim-orin", "sim-rk3588", "sim-phone"]


def test_a_lost_lock_is_found(cli, faulty):
    assert cli("devices", "lock", "sim-rk3588").returncode == 0
    faulty("sim-rk3588", lock_lost=True)
    found = cli("devices", "check", "sim-rk3588")
    assert found.returncode == ExitCode.NOT_READY
    assert "gpu_clock" in found.stdout
    faulty("sim-rk3588")
    assert cli("devices", "restore", "sim-rk3588").returncode == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reboot_prompt": True}, "needs a reboot"),
        ({"mode_write_failed": True}, "The power mode is"),
        ({"no_target": True}, "1300"),
        ({"sudo": "denied"}, "sudoers"),
        ({"free_disk_kib": 0}, "No space left"),
        ({"gpu_units": 4}, "4"),
    ],
)
def test_a_board_that_cannot_be_locked_says_why_and_is_left_as_it_was(cli, faulty, changes, said):
    cli("devices", "check", "sim-orin")
    faulty("sim-orin", **changes)
    failed = cli("devices", "lock", "sim-orin")
    assert failed.returncode == ExitCode.NOT_READY, failed.stdout
    assert said.lower() in (failed.stdout + failed.stderr).lower()
    faulty("sim-orin")
    report = json.loads(cli("devices", "check", "sim-orin", "--json").stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert checks["lease"]["ok"]
    assert checks["power_mode"]["value"].startswith("MODE_50W")


def test_an_unknown_key_is_trusted_only_on_request(cli, tmp_path):
    cli("devices", "check", "sim-phone")
    tree = cli.home.root / "simulated"
    served = json.loads((tree / "boards.json").read_text())["boards"]["sim-phone"]
    lab = tmp_path / "lab.toml"
    known = tmp_path / "known_hosts"
    keys = ("host", "port", "user", "key", "root")
    rows = "".join(f"{key} = {json.dumps(served[key])}\n" for key in keys)
    lab.write_text(
        f'[[device]]\nname = "phone"\nprofile = "snapdragon-8-gen-3"\nknown_hosts = "{known}"\n{rows}'
    )
    refused = cli("--lab", str(lab), "devices", "check", "phone")
    assert refused.returncode == ExitCode.NOT_READY
    assert "was never seen: ssh-ed25519 SHA256:" in refused.stdout
    assert not known.exists()
    assert cli("--lab", str(lab), "devices", "trust", "phone", "--yes").returncode == 0
    assert cli("--lab", str(lab), "devices", "check", "phone").returncode == 0
    assert "known already" in cli("--lab", str(lab), "devices", "trust", "phone").stdout


def test_names_and_usage(cli):
    assert cli("devices", "check").returncode == ExitCode.USAGE
    wrong = cli("devices", "check", "sim-orim")
    assert wrong.returncode == ExitCode.USAGE
    assert "sim-orin" in wrong.stderr


def test_add_writes_the_lab_file(cli, tmp_path):
    path = tmp_path / "lab.toml"
    added = cli(
        "--lab",
        str(path),
        "devices",
        "add",
        "--name",
        "rock",
        "--profile",
        "rk3588",
        "--host",
        "127.0.0.1",
        "--port",
        "9",
        "--yes",
    )
    assert added.returncode == 0, added.stderr
    assert "rock" in cli("--lab", str(path), "devices", "list").stdout
    unreachable = cli("--lab", str(path), "devices", "check", "rock", "--json")
    assert unreachable.returncode == ExitCode.NOT_READY
    (check,) = json.loads(unreachable.stdout)["checks"]
    assert (check["name"], check["ok"]) == ("reachable", False)
    assert "nobody listens at port 9" in check["reason"]
    incomplete = cli("--lab", str(path), "devices", "add", "--name", "x", "--yes")
    assert incomplete.returncode == ExitCode.USAGE
