"""The analyses in docs/analysis/, made by the commands: `python docs/analysis/make.py`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent
ARZ = str(Path(sys.executable).parent / "arz")
ANALYSES: dict[str, tuple[str, str, str]] = {
    "paper_cartpole": ("examples/paper_cartpole.arz", "--change sudden", ""),
    "cartpole": ("results/cartpole/champions/continuous-2.arz", "--change continuous", ""),
    "quadruped": (
        "results/quadruped/champions/reflexes-2.arz",
        "--contact-iterations 5 --leg FR --break-step 300",
        "--contact-iterations 5 --episodes 40",
    ),
    "walker": (
        "results/quadruped/champions/default-1.arz",
        "--contact-iterations 5 --leg FR --break-step 500",
        "--contact-iterations 5 --episodes 40",
    ),
}
"""Program, and options of trace and ablate."""
LEFT_OUT = {"trace.csv", "program.arz"}
"""Large, or made again at any time."""


def commands(name: str) -> dict[str, list[str]]:
    """The words after arz, by command, without --output."""
    source, trace, ablate = ANALYSES[name]
    return {
        "explain": ["explain", source],
        "trace": ["trace", source, *trace.split()],
        "ablate": ["ablate", source, *ablate.split()],
    }


def main() -> None:
    """Makes all of them anew."""
    for name in ANALYSES:
        folder = KEPT / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        printed: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as work:
            for command, words in commands(name).items():
                made = [ARZ, *words, "--output", f"{work}/{command}"]
                done = subprocess.run(made, cwd=ROOT, check=True, capture_output=True, text=True)
                printed[command] = "\n".join(line for line in done.stdout.splitlines() if work not in line)
                for path in (Path(work) / command).iterdir():
                    if path.name not in LEFT_OUT:
                        shutil.copy(path, folder / path.name)
        (folder / "explain.md").rename(folder / "README.md")
        with (folder / "README.md").open("a") as file:
            file.write(rest_of_page(name, printed, folder))
        print(name, flush=True)


def rest_of_page(name: str, printed: dict[str, str], folder: Path) -> str:
    """What trace and ablate add to the page of explain."""
    spelled = {command: f"`arz {' '.join(words)}`" for command, words in commands(name).items()}
    drawn = [kind for kind in ("registers", "actions", "calls", "states") if (folder / f"{kind}.png").exists()]
    pictures = "\n\n".join(f"![{kind}]({kind}.png)" for kind in drawn)
    return (
        f"\n(This part: {spelled['explain']}.)\n\n## An episode from inside\n\n{spelled['trace']}\n\n"
        f"```\n{printed['trace'].strip()}\n```\n\n{pictures}\n\n## What its parts are worth\n\n{spelled['ablate']}\n\n"
        f"```\n{printed['ablate'].strip()}\n```\n\n![What parts are worth](ablation.png)\n"
    )


if __name__ == "__main__":
    main()
