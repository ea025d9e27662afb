"""An environment of our own for tests: `gymnasium.make("tests.gymnasium_support:Follow-v0")`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete


class Follow(gymnasium.Env[Any, Any]):
    """A point is to be kept at zero. It drifts by `drift` and is pushed by the action times `gain`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(self, kind: str = "box", shape: tuple[int, ...] = (2,), render_mode: str | None = None) -> None:
        assert kind != "assert"
        self.render_mode, self.kind, self.copied = render_mode, kind, 0.0
        self.drift, self.gain, self.unused, self.word = 0.1, 1.0, 3.0, "text"
        self.list = [0.5, 0.25]
        self.observation_space = Dict() if kind == "dict" else Box(-np.inf, np.inf, tuple(shape), np.float32)
        self.action_space = Discrete(3, start=-1) if kind == "discrete" else Box(-0.5, 0.25, (1,), np.float32)
        self.given: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self.kind == "never starts":
            raise RuntimeError("no power")
        self.used = self.copied
        self.x, self.time = float(self.np_random.uniform(-1, 1)), 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.kind == "fails" and self.time > 2:
            raise RuntimeError("out of order")
        self.given.append(action)
        push = 0.1 * float(action) if isinstance(self.action_space, Discrete) else float(np.asarray(action)[0])
        self.x += self.drift + self.gain * push + self.used
        self.time += 1
        reward: Any = {"nan": np.nan, "row": [1.0, 2.0]}.get(self.kind, -min(abs(self.x), 9.0))
        shown = np.zeros({"odd": 5, "short": 1}[self.kind]) if self.kind in ("odd", "short") else self._seen()
        return shown, reward, abs(self.x) > 500, False, {}

    def render(self) -> Any:
        picture = np.full((48, 64, 3), 255, np.uint8)
        picture[20:28, int(np.clip(32 + 6 * self.x, 0, 60)) : int(np.clip(36 + 6 * self.x, 1, 64))] = 0
        return picture

    @property
    def fixed(self) -> float:
        return 1.0

    @property
    def guarded(self) -> float:
        return self.drift

    @guarded.setter
    def guarded(self, value: float) -> None:
        raise RuntimeError("hands off")

    def _seen(self) -> Any:
        size = int(np.prod(self.observation_space.shape or (1,)))
        flat = np.array([self.x, self.time / 100, *([0.0] * size)], np.float32)[:size]
        return flat.reshape(self.observation_space.shape or (1,))


if "Follow-v0" not in gymnasium.registry:
    gymnasium.register("Follow-v0", "tests.gymnasium_support:Follow", max_episode_steps=40)
    gymnasium.register("Endless-v0", "tests.gymnasium_support:Follow")
