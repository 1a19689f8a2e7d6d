"""nvpmodel's answers beyond the captures: interleaved streams, failures of several kinds, confs with comments."""

from __future__ import annotations

import pytest

from edgelab.drivers.readings.nvpmodel import (
    NvpmodelQuery,
    NvpmodelStatus,
    read_nvpmodel_change,
    read_nvpmodel_conf,
    read_nvpmodel_query,
    read_nvpmodel_status,
)
from tests.drivers.readings.captures import text_of


def test_an_error_between_the_two_lines_of_the_answer():
    found = read_nvpmodel_query("NV Power Mode: 15W\nNVPM ERROR: Error opening /sys/x: 13\n2\n")
    assert (found.mode, found.id, found.permission_limited) == ("15W", 2, True)


def test_a_name_alone_has_no_number_and_nothing_has_no_name():
    assert read_nvpmodel_query("NV Power Mode: MAXN\n") == NvpmodelQuery(mode="MAXN")
    assert read_nvpmodel_query("NV Power Mode: MAXN\nand then\n").id is None
    assert read_nvpmodel_query("NV Power Mode: \n0\n").mode is None
    assert read_nvpmodel_query("NVPM WARN: power mode is not set!\n") == NvpmodelQuery(warnings=1)


@pytest.mark.parametrize(
    "error", ["Error opening /sys/x: 2", "failed to write PARAM GPU: ARG MIN_FREQ: PATH /sys/x VAL: 13"]
)
def test_only_eacces_is_a_lack_of_permission(error: str):
    assert not read_nvpmodel_query(f"NV Power Mode: MAXN\n0\nNVPM ERROR: {error}\n").permission_limited


def test_values_that_are_words_are_no_limits():
    line = "NVPM VERB: PARAM GPU_POWER_CONTROL_DISABLE: ARG GPU_PWR_CNTL_DIS: PATH /sys/x: REAL_VAL: auto CONF_VAL: auto"
    found = read_nvpmodel_query(f"NV Power Mode: MAXN\n0\n{line}\n")
    assert (found.gpu_max_hz, found.tpc_pg_mask) == (None, None)


def test_errors_of_the_second_query_are_no_failure_of_the_change():
    query = text_of("nvpmodel_q_nonroot.txt")
    found = read_nvpmodel_change(
        f"$ nvpmodel -q\n{query}$ sudo nvpmodel -m 0\n$ nvpmodel -q\nNV Power Mode: MAXN\n0\n"
    )
    assert (found.before, found.after, found.changed) == ("MODE_15W_DESKTOP", "MAXN", True)
    assert (found.failed, found.errno, found.errors) == (False, None, ())


def test_prompts_of_a_shell_part_the_change_from_the_query_after_it():
    nonroot = text_of("nvpmodel_q_nonroot.txt")
    found = read_nvpmodel_change(f"nv@agx:~$ sudo nvpmodel -m 7\nnv@agx:~$ nvpmodel -q\n{nonroot}")
    assert (found.after_id, found.errors, found.failed) == (7, (), False)


def test_one_query_alone_proves_no_change():
    assert read_nvpmodel_change("$ nvpmodel -m 0\n$ nvpmodel -q\nNV Power Mode: MAXN\n0\n").changed is None
    assert read_nvpmodel_change("").changed is None


def test_a_change_without_root_fails_with_its_error_number():
    found = read_nvpmodel_change(
        "NVPM ERROR: Error opening /sys/devices/system/cpu/cpu0/online: 13\n"
        "NVPM ERROR: failed to write PARAM CPU_ONLINE: ARG CORE_0: PATH /sys/devices/system/cpu/cpu0/online VAL: 1\n"
        "NVPM ERROR: failed to set power mode!\n"
    )
    assert (found.failed, found.errno, found.reboot_required) == (True, 13, False)


def test_a_request_that_was_dropped_without_a_question_has_failed():
    found = read_nvpmodel_change("NVPM ERROR: optMask is 1, no request for power mode\n")
    assert (found.failed, found.changed) == (True, False)


def test_a_question_without_an_answer_has_changed_nothing():
    """Thor, standard input closed: nvpmodel takes the end of input for a wrong answer."""
    found = read_nvpmodel_change(
        "NVPM WARN: Reboot required for changing to this power mode: 2\n"
        "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:\nNVPM ERROR: bad input!\n"
    )
    assert (found.reboot_required, found.rebooting, found.failed, found.changed) == (
        True,
        False,
        False,
        False,
    )


CONF = """\
# < POWER_MODEL ID=9 NAME=EXAMPLE >
# < PM_CONFIG DEFAULT=9 >
< POWER_MODEL ID=0 NAME=MAXN >
GPU MAX_FREQ -1
GPU_POWER_CONTROL_ENABLE GPU_PWR_CNTL_EN on
< POWER_MODEL ID=2 NAME=MODE_30W >
TPC_POWER_GATING TPC_PG_MASK 240
GPU MAX_FREQ 612000000
"""


def test_comments_of_a_conf_say_nothing():
    found = read_nvpmodel_conf(f"{CONF}\n< PM_CONFIG DEFAULT=2 >\n")
    assert found.modes == {0: "MAXN", 2: "MODE_30W"}
    assert (found.default, found.default_id) == ("MODE_30W", 2)
    assert (found.gpu_max, found.tpc_mask) == ({0: -1, 2: 612000000}, {2: 240})


def test_a_default_that_is_not_listed_has_no_name_and_none_is_unknown():
    assert read_nvpmodel_conf("< PM_CONFIG DEFAULT=5 >").default is None
    assert read_nvpmodel_conf(CONF).default_id is None


def test_a_default_that_is_a_name_is_not_taken_for_a_number():
    assert read_nvpmodel_conf("< PM_CONFIG DEFAULT=15W >").default_id is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pmode:0002\r\n", NvpmodelStatus(2)),
        ("pmode:0008", NvpmodelStatus(8)),
        ("fmode:cool\n", NvpmodelStatus(None, "cool")),
        ("pmode:\n", NvpmodelStatus()),
        ("pmode:0x10\n", NvpmodelStatus()),
        ("", NvpmodelStatus()),
    ],
)
def test_the_status_file(text: str, wanted: NvpmodelStatus):
    assert read_nvpmodel_status(text) == wanted
