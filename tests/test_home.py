"""The home: where it is, who may read it, and its secret."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

from edgelab.home import Home


def test_chosen_place_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGELAB_HOME", str(tmp_path / "named"))
    assert Home.locate(tmp_path / "chosen").root == tmp_path / "chosen"
    assert Home.locate().root == tmp_path / "named"
    monkeypatch.delenv("EDGELAB_HOME")
    assert Home.locate().root.name == "edgelab"


def test_locating_creates_nothing(tmp_path):
    Home.locate(tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_new_home_is_closed_to_others(tmp_path):
    home = Home(tmp_path / "home").ensure()
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    home.ensure()


def test_a_place_that_was_there_keeps_its_mode(tmp_path):
    (tmp_path / "home").mkdir(mode=0o755)
    assert stat.S_IMODE(Home(tmp_path / "home").ensure().root.stat().st_mode) == 0o755


def test_the_secret_is_made_once_and_private(tmp_path):
    home = Home(tmp_path / "home").ensure()
    secret = home.secret()
    assert len(secret) == 32
    assert home.secret() == secret
    assert stat.S_IMODE((home.root / "secret").stat().st_mode) == 0o600
    assert Home(tmp_path / "other").ensure().secret() != secret


def test_several_first_users_agree_on_the_secret(tmp_path):
    home = Home(tmp_path / "home").ensure()
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: home.secret(), range(64)))
    assert len(secrets) == 1
    assert len(secrets.pop()) == 32
