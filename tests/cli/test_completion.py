"""Words that are nearly right, and scripts that complete words."""

import json
import subprocess

import pytest

import mbd.cli
from mbd.cli import main


@pytest.mark.parametrize(("words", "nearest"), [
    ("rnu pendulum", "run"),
    ("run pendulm", "pendulum"),
    ("run pendulum --t-edn 1", "--t-end"),
    ("modes pendulum --animtae=x.html", "--animate"),
    ("run pendulum -p formulaton=so3", "formulation"),
    ("run pendulum --method EnergyMomentun", "EnergyMomentum"),
    ("compare pendulum --formulations so4", "so3"),
    ("view pendulum --trail rdo --t-end 0.01 --no-open", "rod"),
    ("completion bsh", "bash"),
])  # fmt: skip
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(words, nearest, capsys):
    with pytest.raises(SystemExit, match="2"):
        raise SystemExit(main(words.split()))
    assert f"(did you mean {nearest!r}?)" in capsys.readouterr().err


def test_errors_of_words_are_json_where_asked_for(capsys):
    for words in ("rnu pendulum --json", "run pendulum --t-edn 1 --json"):
        with pytest.raises(SystemExit):
            main(words.split())
        assert "did you mean" in json.loads(capsys.readouterr().out)["error"]


def test_the_script_for_bash_completes_commands_and_options(capsys):
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    ask = """
        COMP_WORDS=(mbd {}); COMP_CWORD={}
        _shtab_mbd >/dev/null 2>&1; printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    def offered(*words):
        text = script + ask.format(" ".join(words), len(words))
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert set(offered("''")) == set(mbd.cli.COMMANDS)
    assert offered("mo") == ["modes"]
    assert "--t-end" in offered("run", "--t")


def test_without_the_extra_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert main(["completion", "zsh"]) == 2
    assert "pip install 'mbd[shell]'" in capsys.readouterr().err
