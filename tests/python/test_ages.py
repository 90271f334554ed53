"""Programs of tests/ages, written as those of MindSpore 1.x, of 2.0 and of packages around them are, run unmodified."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "ages"
ENDS = {
    "vision_of_1_x": "OK 2 True mindspore",
    "recurrent_text_of_1_x": "OK 3 True [] mindspore",
    "training_of_2_0": "OK ['net.ckpt'] mindspore Model Callback typing.List Initializer",
    "audio_and_text_package": "OK [True, True] reflect NFKC Parameter mindspore",
}


@pytest.mark.parametrize("program", sorted(ENDS))
def test_program(program, tmp_path):
    assert {p.stem for p in FOLDER.glob("*.py")} == set(ENDS)
    out = ["--out", str(tmp_path)]
    args = {"vision_of_1_x": out, "recurrent_text_of_1_x": out, "training_of_2_0": [str(tmp_path)]}.get(program, [])
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "pijit", "--as", "mindspore", str(FOLDER / f"{program}.py"), *args],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == ENDS[program]
