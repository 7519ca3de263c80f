"""Environments for gymnasium and dm_env: thin classes around the same arrays."""

from typing import Any

import numpy as np

from mbd.base.checked import extra


def _spaces(environment: Any) -> tuple[Any, Any]:
    """Return the spaces of observations and actions."""
    from gymnasium.spaces import Box

    n = len(environment.observation)
    of_y = Box(np.full(n, -np.inf), np.full(n, np.inf), dtype=np.float64)
    return of_y, Box(environment.low, environment.high, dtype=np.float64)


def gymnasium_environment(environment: Any) -> Any:
    """Return a ``gymnasium.Env``."""
    extra("to_gymnasium", "it needs", "gymnasium", "gym")
    import gymnasium

    class GymnasiumEnvironment(gymnasium.Env):  # type: ignore[misc]
        """A model that is acted on."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self) -> None:
            self.observation_space, self.action_space = _spaces(environment)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return environment.reset(seed)

        def step(self, action: Any) -> Any:
            return environment.step(action)

    return GymnasiumEnvironment()


def gymnasium_environments(environments: Any) -> Any:
    """Return a ``gymnasium.vector.VectorEnv`` that begins finished episodes in the same step."""
    extra("to_gymnasium", "it needs", "gymnasium", "gym")
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    class GymnasiumEnvironments(VectorEnv):  # type: ignore[misc]
        """Many environments of one model."""

        metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

        def __init__(self) -> None:
            self.num_envs = environments.n
            one = environments.environment
            self.single_observation_space, self.single_action_space = _spaces(one)
            self.observation_space = batch_space(self.single_observation_space, self.num_envs)
            self.action_space = batch_space(self.single_action_space, self.num_envs)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return environments.reset(seed)

        def step(self, actions: Any) -> Any:
            y, rewards, ends, late, info = environments.step(actions)
            if "final_obs" in info:
                last = np.empty(self.num_envs, object)
                for i, x in info["final_obs"].items():
                    last[i] = x
                over = np.zeros(self.num_envs, bool)
                over[list(info["final_obs"])] = True
                info = {"final_obs": last, "_final_obs": over}
            return y, rewards, ends, late, info

    return GymnasiumEnvironments()


def dm_environment(environment: Any) -> Any:
    """Return a ``dm_env.Environment``."""
    extra("to_dm_env", "it needs", "dm_env", "gym")
    import dm_env
    from dm_env import specs

    class DmEnvironment(dm_env.Environment):  # type: ignore[misc]
        """A model that is acted on."""

        def __init__(self) -> None:
            self.over = True

        def reset(self) -> Any:
            self.over = False
            return dm_env.restart(environment.reset()[0])

        def step(self, action: Any) -> Any:
            if self.over:
                return self.reset()
            y, reward, terminated, truncated, _ = environment.step(action)
            self.over = terminated or truncated
            if terminated:
                return dm_env.termination(reward, y)
            return (dm_env.truncation if truncated else dm_env.transition)(reward, y)

        def observation_spec(self) -> Any:
            return specs.Array((len(environment.observation),), np.float64, "observation")

        def action_spec(self) -> Any:
            low, high = environment.low, environment.high
            return specs.BoundedArray(low.shape, np.float64, low, high, "action")

    return DmEnvironment()
