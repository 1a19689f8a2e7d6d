"""Kill things: ctrl-c at each step, kill -9 of the run, of the worker, of the follower; a full disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import msgspec
import pytest

from edgelab.bench.secret_seeds import SecretSeeds
from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.errors import ExitCode
from edgelab.events import STEPS, DeviceAwaited, RunFinished, RunStarted, StepFinished
from edgelab.runs import control
from edgelab.runs.folder import RunFolder
from tests.support import candidates
from tests.support.cli import Cli, interrupt, processes_of, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> Path:
    """A cache folder with the tiny task's reference and baseline in it."""
    cli = Cli(tmp_path_factory.mktemp("warm"))
    assert cli("run", str(candidates.TINY)).returncode in (ExitCode.DONE, ExitCode.NOT_READY)
    return cli.home.cache


@pytest.fixture
def cli(tmp_path, warm) -> Cli:
    cli = Cli(tmp_path / "home")
    cli.home.ensure()
    cli.home.cache.rmdir()
    cli.home.cache.symlink_to(warm)
    return cli


def nothing_is_left(cli: Cli) -> bool:
    return not processes_of(cli.home.root)


@pytest.mark.parametrize("step", [step for step in STEPS if step not in ("worker", "recheck")])
def test_ctrl_c_ends_with_status_4_and_can_be_resumed(cli, tmp_path, step):
    if step == "reference":
        # A home without caches, so that the step is long enough to be interrupted.
        cli = Cli(tmp_path / "cold")
    process = cli.start("run", str(candidates.TINY))
    run = cli.wait_for_event("step_started", step=step)
    status, stderr = interrupt(process)
    assert status == ExitCode.INTERRUPTED
    assert f"edgelab runs resume {run}" in stderr
    assert "Traceback" not in stderr
    with cli.reader() as reader:
        assert reader.run(run).state == "interrupted"
        before = reader.last_event_id()
    wait_for(lambda: nothing_is_left(cli))
    resumed = cli("runs", "resume", run)
    assert resumed.returncode in (ExitCode.DONE, ExitCode.NOT_READY)
    with cli.reader() as reader:
        assert reader.run(run).result.correct
        assert reader.events_after(0)[before - 1].id == before
        assert len(reader.measurements()) == 1


def test_kill_9_of_the_run_process_loses_nothing_and_resume_finishes_it(cli):
    process = cli.start("run", str(candidates.TINY))
    run = cli.wait_for_event("step_started", step="time")
    pid = RunFolder(cli.home, run).holder()
    with cli.reader() as reader:
        before = reader.events_after(0)
    os.kill(pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert f"edgelab runs resume {run}" in stderr
    wait_for(lambda: nothing_is_left(cli))
    with cli.reader() as reader:
        assert control.state(cli.home, reader.run(run)) == "lost"
        assert reader.events_after(0)[: len(before)] == before
    assert "lost" in cli("runs", "list").stdout
    assert cli("runs", "resume", run).returncode in (ExitCode.DONE, ExitCode.NOT_READY)
    with cli.reader() as reader:
        assert reader.run(run).state == "done"
        assert [row.run for row in reader.measurements()] == [run]


def test_a_killed_worker_is_replaced_and_not_counted_against_the_candidate(cli):
    process = cli.start("run", str(candidates.TINY), "--json")
    cli.wait_for_event("step_started", step="time")
    worker = wait_for(lambda: [pid for pid in processes_of(cli.home.root) if _is_worker(pid)])
    os.kill(worker[0], signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=120)
    assert '"correct":true' in stdout
    assert "Trying once more" in stderr
    assert process.returncode in (ExitCode.DONE, ExitCode.NOT_READY)


def _is_worker(pid: int) -> bool:
    return b".pyz" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_the_run_outlives_the_terminal_that_started_it(cli):
    process = cli.start("run", str(candidates.TINY))
    run = cli.wait_for_event("step_started", step="build")
    process.kill()
    process.communicate(timeout=10)
    assert cli("runs", "attach", run).returncode in (ExitCode.DONE, ExitCode.NOT_READY)
    with cli.reader() as reader:
        assert reader.run(run).result.correct


def test_attach_may_leave_and_the_run_goes_on(cli):
    assert cli("run", str(candidates.TINY), "--detach").returncode == 0
    run = cli.wait_for_event("step_started", step="build")
    process = cli.start("runs", "attach", run)
    assert process.stderr is not None
    process.stderr.readline()
    status, stderr = interrupt(process)
    assert status == ExitCode.DONE
    assert "goes on" in stderr
    wait_for(lambda: not control.is_alive(cli.home, run))
    with cli.reader() as reader:
        assert reader.run(run).state == "done"


def test_stop_from_another_terminal(cli):
    assert cli("run", str(candidates.TINY), "--detach").returncode == 0
    run = cli.wait_for_event("run_started")
    assert cli("runs", "stop", run).returncode == 0
    with cli.reader() as reader:
        assert reader.run(run).state == "interrupted"
    wait_for(lambda: nothing_is_left(cli))


def test_a_run_is_not_run_twice_at_once(cli):
    assert cli("run", str(candidates.TINY), "--detach").returncode == 0
    run = cli.wait_for_event("run_started")
    done = cli("runs", "resume", run)
    assert done.returncode == ExitCode.USAGE
    assert "already running" in done.stderr
    wait_for(lambda: not control.is_alive(cli.home, run))
    done = cli("runs", "resume", run)
    assert done.returncode == ExitCode.USAGE
    assert "has its verdict" in done.stderr


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_infrastructure_and_the_verdict_is_still_recorded(small_disk, warm):
    cli = Cli(small_disk)
    cli.home.ensure()
    cli.home.cache.rmdir()
    cli.home.cache.symlink_to(warm)
    process = cli.start("run", str(candidates.TINY), "--json")
    run = cli.wait_for_event("run_started")
    _fill(small_disk)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == ExitCode.NOT_READY, stderr
    assert '"class":"infrastructure"' in stdout
    assert "full" in stdout
    assert "--home" in stdout
    with cli.reader() as reader:
        assert reader.run(run).state == "done"
        assert reader.run(run).result.verdict == "failed"


def test_a_disk_that_is_full_from_the_start_is_one_message(small_disk):
    _fill(small_disk)
    done = Cli(small_disk)("run", str(candidates.TINY))
    assert done.returncode == ExitCode.NOT_READY
    assert "No space left" in done.stderr or "full" in done.stderr
    assert "Traceback" not in done.stderr


def _fill(folder: Path) -> None:
    with (folder / "ballast").open("wb", buffering=0) as stream:
        for size in (65536, 4096, 512):
            try:
                while stream.write(b"x" * size):
                    pass
            except OSError:
                continue


def test_a_run_killed_between_journal_and_store_is_completed_without_measuring_again(cli):
    cli("run", str(candidates.TINY))
    with cli.reader() as reader:
        run = reader.find_run("last").id
        result = reader.run(run).result
    with sqlite3.connect(cli.home.database) as connection:
        connection.execute("UPDATE runs SET state = 'running', result = NULL, finished_s = NULL")
        connection.execute("DELETE FROM events WHERE kind = 'run_finished'")
    assert cli("runs", "resume", run).returncode == result.exit_code
    with cli.reader() as reader:
        assert reader.run(run).result == result
        assert len(reader.measurements()) == 1
        events = [event.body for event in reader.events_after(0)]
    assert sum(isinstance(body, RunStarted) for body in events) == 1
    assert sum(isinstance(body, RunFinished) for body in events) == 1


def test_sigterm_stops_the_run_like_ctrl_c_and_json_says_so(cli):
    process = cli.start("run", str(candidates.TINY), "--json")
    run = cli.wait_for_event("step_started", step="time")
    process.terminate()
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert msgspec.json.decode(stdout)["run"] == run
    assert cli("runs", "attach", run).returncode == ExitCode.INTERRUPTED
    with cli.reader() as reader:
        finished = [event.body for event in reader.events_after(0) if isinstance(event.body, StepFinished)]
    assert finished[-1].stopped
    wait_for(lambda: nothing_is_left(cli))


def test_two_runs_on_one_device_do_not_overlap(cli):
    ids = [cli("run", str(candidates.TINY), "--detach").stdout.strip() for _ in range(2)]
    wait_for(lambda: not any(control.is_alive(cli.home, run) for run in ids))
    with cli.reader() as reader:
        assert all(reader.run(run).result.correct for run in ids)
        waited = [event.body for event in reader.events_after(0) if isinstance(event.body, DeviceAwaited)]
        times = sorted(
            (step.started_s, step.started_s + step.elapsed_s)
            for run in ids
            for step in reader.steps(run)
            if step.name == "time"
        )
    assert times[0][1] <= times[1][0]
    (body,) = waited
    assert body.device == "local"
    assert any(f"run {run} of " in body.holder for run in ids)


def test_a_damaged_cached_library_is_built_again(tmp_path):
    cli = Cli(tmp_path / "home")
    assert cli("run", str(candidates.TINY)).returncode in (ExitCode.DONE, ExitCode.NOT_READY)
    for library in (cli.home.cache / "artefacts" / "libraries").glob("*.so"):
        content = library.read_bytes()
        library.unlink()
        library.write_bytes(content[:3000])
    done = cli("run", str(candidates.TINY), "--json")
    assert '"correct":true' in done.stdout


def test_secret_seeds_reach_neither_store_nor_logs(cli):
    done = cli("run", str(candidates.TINY), "--json")
    assert '"correct":true' in done.stdout
    task = resolve(str(candidates.TINY), Catalogue.load(catalogue_root()))
    seeds = SecretSeeds.derive(cli.home.secret(), task.digest)
    with cli.reader() as reader:
        run = reader.find_run("last")
        said = msgspec.json.encode([event.body for event in reader.events_after(0)]) + msgspec.json.encode(
            run
        )
    folder = RunFolder(cli.home, run.id).path
    said += b"".join(path.read_bytes() for path in folder.iterdir() if path.name != "reserve")
    said += (done.stdout + done.stderr).encode()
    derived = [str(seed).encode() for seed in (*seeds.timing, seeds.recheck, seeds.hidden)]
    for secret in (*derived, cli.home.secret().hex().encode()):
        assert secret not in said


def test_a_failure_before_the_first_step_is_a_verdict_too(cli):
    lease = cli.home.cache / "devices" / "local" / "lease"
    lease.unlink()
    lease.mkdir()
    try:
        done = cli("run", str(candidates.TINY), "--json")
    finally:
        lease.rmdir()
    assert done.returncode == ExitCode.NOT_READY
    failure = msgspec.json.decode(done.stdout)["failure"]
    assert failure["class"] == "infrastructure"
    assert "lease" in failure["message"]
