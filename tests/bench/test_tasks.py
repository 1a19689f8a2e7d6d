from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgelab.bench.tasks import Catalogue, catalogue_root, resolve
from edgelab.errors import ExitCode, TaskError, UsageError

MODULE = "SIZE = 4\nSHAPE = [1, 2]\n"
HEAD = 'title = "Toy"\nfamily = "toys"\noperator_class = "injective"\nprovenance = "a file"\n'
PROFILE = '[profiles.toy_a]\nid = "L1-901"\ndomains = "ME"\ncheck = "C"\nconstants = { SIZE = 8 }\n'


def suite(
    tmp_path: Path, *, toml: str = HEAD + PROFILE, module: str | None = MODULE, stem: str = "toy"
) -> Path:
    folder = tmp_path / "level1" / "toys"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.toml").write_text(toml)
    if module is not None:
        (folder / f"{stem}.py").write_text(module)
    return tmp_path


def problem(root: Path) -> str:
    with pytest.raises(TaskError) as caught:
        Catalogue.load(root)
    return str(caught.value)


@pytest.fixture(scope="module")
def whole() -> Catalogue:
    return Catalogue.load(catalogue_root())


def test_task_carries_everything_of_file_and_profile(tmp_path: Path):
    (spec,) = Catalogue.load(suite(tmp_path)).specs
    assert (spec.name, spec.id, spec.level, spec.family, spec.title) == ("toy_a", "L1-901", 1, "toys", "Toy")
    assert (spec.operator_class, spec.provenance, spec.check) == ("injective", "a file", "C")
    assert spec.backends == ("llvm", "cuda")
    assert spec.constants == {"SIZE": 8}
    assert spec.source() == "SIZE = 8\nSHAPE = [1, 2]\n"


def test_profile_speaks_before_the_file(tmp_path: Path):
    own = PROFILE + 'title = "Own"\nprovenance = "own file"\noperator_class = "dense"\n'
    (spec,) = Catalogue.load(suite(tmp_path, toml=HEAD + own)).specs
    assert (spec.title, spec.provenance, spec.operator_class) == ("Own", "own file", "dense")


def test_digest_follows_text_and_constants(tmp_path: Path):
    (first,) = Catalogue.load(suite(tmp_path)).specs
    digest = first.digest
    (constants,) = Catalogue.load(suite(tmp_path, toml=HEAD + PROFILE.replace("8", "9"))).specs
    assert constants.digest != digest
    suite(tmp_path, module=MODULE + "# changed\n")
    assert first.digest != digest


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("title = \n" + PROFILE, "not valid TOML"),
        (HEAD, "profiles: at least one"),
        (PROFILE, "missing required field `title`"),
        (HEAD + 'colour = "red"\n' + PROFILE, "unknown field `colour`"),
        (HEAD.replace("injective", "magic") + PROFILE, "operator_class: Invalid enum value 'magic'"),
        (HEAD.replace('"toys"', '"games"') + PROFILE, "family: 'games' lies in the folder of 'toys'"),
        (HEAD + PROFILE.replace('check = "C"', ""), "profiles.toy_a: Object missing required field `check`"),
        (HEAD + PROFILE.replace('"L1-901"', "901"), "profiles.toy_a.id: Expected `str`, got `int`"),
        (HEAD + PROFILE.replace("L1-901", "L2-901"), "profiles.toy_a.id: L2-901 is not of level 1"),
        (HEAD + PROFILE.replace('"ME"', '"MX"'), "profiles.toy_a.domains: Expected `str` matching"),
        (HEAD + PROFILE.replace('"ME"', '""'), "profiles.toy_a.domains: Expected `str` of length >= 1"),
        (HEAD + PROFILE.replace("toy_a", '"toy a"'), "profiles.toy a: Expected `str` matching"),
        (HEAD + PROFILE.replace("SIZE", "WIDTH"), "profiles.toy_a.constants.WIDTH: constant WIDTH is not in"),
        (
            HEAD + PROFILE.replace("8", '"8"'),
            "profiles.toy_a.constants.SIZE: constant SIZE is of kind string",
        ),
        (HEAD.replace("a file", "") + PROFILE, "profiles.toy_a.provenance: say where"),
        (HEAD + PROFILE + PROFILE, "not valid TOML"),
    ],
)
def test_problem_names_file_and_key(tmp_path: Path, toml: str, message: str):
    said = problem(suite(tmp_path, toml=toml))
    assert message in said
    assert "level1/toys/toy.toml: " in said


def test_all_problems_are_listed_at_once(tmp_path: Path):
    suite(tmp_path, toml="title = \n")
    said = problem(suite(tmp_path, toml=HEAD, stem="other"))
    assert "toy.toml" in said
    assert "other.toml" in said


def test_module_with_a_syntax_error_names_the_line(tmp_path: Path):
    assert "toy.py, line 2" in problem(suite(tmp_path, module="SIZE = 4\nSIZE = = 4\n"))


def test_description_without_a_module(tmp_path: Path):
    assert "toy.py cannot be read" in problem(suite(tmp_path, module=None))


def test_module_without_a_description(tmp_path: Path):
    root = suite(tmp_path)
    (root / "level1" / "toys" / "lonely.py").write_text(MODULE)
    assert "no lonely.toml beside it" in problem(root)


def test_duplicate_name_names_both_files(tmp_path: Path):
    suite(tmp_path)
    said = problem(suite(tmp_path, toml=HEAD + PROFILE.replace("901", "902"), stem="twin"))
    assert "name toy_a is taken" in said
    assert "twin.toml" in said
    assert "toy.toml" in said


def test_duplicate_id_names_both_tasks(tmp_path: Path):
    suite(tmp_path)
    said = problem(suite(tmp_path, toml=HEAD + PROFILE.replace("toy_a", "toy_b"), stem="twin"))
    assert "profiles.toy_b: id L1-901 is taken by toy_a" in said


def test_missing_suite_is_named(tmp_path: Path):
    assert "absent" in problem(tmp_path / "absent")


def test_find_by_name_and_by_id(whole: Catalogue):
    assert whole.find("fire_256_27") is whole.find("L2-146")


def test_unknown_task_offers_the_three_nearest(whole: Catalogue):
    with pytest.raises(UsageError) as caught:
        whole.find("squeezenet")
    assert caught.value.exit_code is ExitCode.USAGE
    assert "squeezenet1_1_224" in caught.value.advice
    assert caught.value.advice.split(".")[0].count(",") == 2


def test_filters_combine(whole: Catalogue):
    names = {spec.name for spec in whole.filter(level=2, domain="A", text="MOBILENET residual")}
    assert names == {"ir_mnv2_res_24", "ir_se_hs_k5_mnv3s"}
    assert {spec.name for spec in whole.filter(family="tinyml", backend="llvm")} == {"dscnn_kws"}
    assert whole.filter() == whole.specs


@pytest.mark.parametrize("wrong", [{"level": 4}, {"domain": "X"}, {"backend": "vulkan"}, {"family": "toys"}])
def test_filter_by_what_cannot_be_says_what_can(whole: Catalogue, wrong: dict):
    with pytest.raises(UsageError, match="Known: "):
        whole.filter(**wrong)


def test_plain_file_is_a_task_of_its_own(tmp_path: Path):
    path = tmp_path / "my_kernel.py"
    path.write_text(MODULE)
    spec = resolve(str(path), Catalogue(()))
    assert (spec.name, spec.level, spec.backends) == ("my_kernel", 0, ("llvm", "cuda", "opencl"))
    assert spec.source() == MODULE


def test_name_resolves_in_the_catalogue(whole: Catalogue):
    assert resolve("dscnn_kws", whole).level == 3


def test_missing_file_is_not_taken_for_a_task_name(whole: Catalogue):
    with pytest.raises(UsageError, match=r"no task file 'gone\.py'"):
        resolve("gone.py", whole)


def test_light_modules_import_neither_torch_nor_tvm():
    code = (
        "import sys, edgelab.bench.tasks, edgelab.bench.reference;"
        "sys.exit(', '.join({'torch', 'tvm', 'textual', 'asyncssh'} & set(sys.modules)) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
