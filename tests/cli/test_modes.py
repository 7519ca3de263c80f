"""``mbd modes`` and ``mbd equilibrium``."""

import json

import pytest

from mbd.cli import main


def test_equilibrium_of_a_chain(capsys):
    assert main(["equilibrium", "chain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("stable equilibrium at load factor 1")
    assert main(["equilibrium", "governor", "--rotating", "0", "0", "8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stable"]
    assert told["forces"]["bearing"][2] == pytest.approx(3 * 9.81, rel=1e-9)


def test_modes_of_a_chain_and_a_page(capsys, tmp_path):
    page = tmp_path / "mode.html"
    assert main(["modes", "pendulum", "--equilibrium", "--animate", str(page)]) == 0
    out = capsys.readouterr().out
    assert "0.61052" in out  # sqrt(1.5 g) / 2 pi
    assert page.stat().st_size > 1000
    assert main(["modes", "spring_mass", "-p", "amplitude=0", "-n", "22", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stable"]
    assert told["modes"][20]["frequency"] == pytest.approx(1.8305059771717 / 6.283185307179586)


def test_what_is_no_equilibrium_is_said(capsys):
    assert main(["modes", "pendulum"]) == 2
    assert "mbd.equilibrium(system)" in capsys.readouterr().err


def test_equilibrium_states_what_is_out_of_balance(capsys):
    assert main(["equilibrium", "chain", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert 0.0 <= told["out_of_balance"]["force"] < 1e-6 * told["loads"]["force"]
    assert 0.0 <= told["out_of_balance"]["moment"] < 1e-6 * told["loads"]["moment"]
    assert main(["equilibrium", "chain"]) == 0
    assert "out of balance are" in capsys.readouterr().out
