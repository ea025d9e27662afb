"""The Laikago in MuJoCo: the referee, made from the same numbers as our own simulator.

`model_xml` is plain MJCF that any MuJoCo can load. `engine` drives it natively, without the GIL. MuJoCo is an extra
(the extra `mujoco`) and is imported only here and in `rendering`.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from arz.names import install
from arz.native import core
from arz.tasks.screen import ADVICE, draw_without_screen

NUMBERS: dict[str, Any] = core.LAIKAGO
LEGS: tuple[str, ...] = tuple(NUMBERS["legs"])
JOINTS: tuple[str, ...] = NUMBERS["joint_names"]

# What only the eye needs: sizes of boxes and limbs, and colours.
TRUNK_SIZE = (0.28, 0.08, 0.07)
COLOURS = {"trunk": ".25 .28 .33 1", "leg": ".75 .77 .8 1", "toe": ".15 .15 .15 1"}


def load_mujoco() -> Any:
    """The package `mujoco`.

    Raises:
        ValueError: it is not installed, or is told to draw in a way that there is not.
    """
    draw_without_screen()
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise ValueError(f"this needs MuJoCo, which is not there: {install('mujoco')}") from None
    except Exception as error:  # what OpenGL says has many shapes
        raise ValueError(f"MuJoCo cannot be used here ({error}): {ADVICE}") from None


def model_xml(*, contact: bool = True, friction: float = NUMBERS["friction"], payload: float = 0.0) -> str:
    """The robot, its motors (torques) and the ground as MJCF; without contact, or with a payload (kg), if told so.

    The ground is as hard as MuJoCo allows at this time step (`solref`), and friction is a cone: that is nearest to the
    rigid contact of our simulator. MuJoCo's usual ground is ten times softer.
    """
    legs = "\n".join(_leg(name) for name in LEGS)
    trunk = {**NUMBERS["trunk"], "mass": NUMBERS["trunk"]["mass"] + payload}
    motors = "\n".join(f'    <motor joint="{leg}_{joint}"/>' for leg in LEGS for joint in JOINTS)
    return f"""<mujoco model="laikago">
  <compiler angle="radian" autolimits="true"/>
  <option cone="elliptic" timestep="{NUMBERS["step"]}" gravity="0 0 -{NUMBERS["gravity"]}">
    <flag contact="{"enable" if contact else "disable"}"/>
  </option>
  <visual>
    <global offwidth="1280" offheight="720"/>
    <headlight ambient=".45 .45 .45" diffuse=".4 .4 .4" specular="0 0 0"/>
    <quality shadowsize="2048"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".75 .85 .95" rgb2="1 1 1" width="256" height="256"/>
    <texture name="tiles" type="2d" builtin="checker" rgb1=".86 .88 .9" rgb2=".78 .81 .84" width="256" height="256"/>
    <material name="ground" texture="tiles" texrepeat="1 1" texuniform="true"/>
  </asset>
  <default>
    <geom contype="0" conaffinity="0" condim="3" friction="{friction} 0 0" solref="{2 * NUMBERS["step"]} 1"/>
    <joint type="hinge" limited="false"/>
    <default class="limb"><geom type="capsule" rgba="{COLOURS["leg"]}" mass="0"/></default>
  </default>
  <worldbody>
    <light pos="0 0 4" dir=".2 .3 -1" directional="true" diffuse=".5 .5 .5" specular=".1 .1 .1"/>
    <geom name="ground" type="plane" size="0 0 .05" material="ground" contype="1" conaffinity="1"/>
    <body name="trunk" pos="0 0 {NUMBERS["height"]}">
      <camera name="side" mode="trackcom" pos="0.3 -1.9 0.55" xyaxes="1 0.12 0 -0.025 0.2 1"/>
      <freejoint name="trunk"/>
      {_inertial(trunk)}
      <geom name="trunk" type="box" size="{_text(TRUNK_SIZE)}" rgba="{COLOURS["trunk"]}" mass="0"/>
{legs}
    </body>
  </worldbody>
  <actuator>
{motors}
  </actuator>
</mujoco>
"""


def _leg(name: str) -> str:
    leg = NUMBERS["legs"][name]
    side, (abduction, hip, knee), (motor, upper, lower) = leg["side"], leg["joints"], leg["links"]
    toe, radius = NUMBERS["toe"], NUMBERS["toe_radius"]
    ends = {"thigh": f"0 0 0 {_text(knee)}", "shank": f"0 0 0 {_text(toe)}"}
    return f"""      <body name="{name}_motor" pos="{_text(abduction)}">
        <joint name="{name}_abduction" axis="{_text((side, 0, 0))}"/>
        {_inertial(motor)}
        <geom name="{name}_motor" class="limb" type="sphere" size=".05"/>
        <body name="{name}_upper" pos="{_text(hip)}">
          <joint name="{name}_hip" axis="0 1 0"/>
          {_inertial(upper)}
          <geom name="{name}_thigh" class="limb" size=".03" fromto="{ends["thigh"]}"/>
          <body name="{name}_lower" pos="{_text(knee)}">
            <joint name="{name}_knee" axis="0 1 0"/>
            {_inertial(lower)}
            <geom name="{name}_shank" class="limb" size=".018" fromto="{ends["shank"]}"/>
            <geom name="{name}_toe" type="sphere" size="{radius}" pos="{_text(toe)}" rgba="{COLOURS["toe"]}" mass="0"
              contype="1" conaffinity="1"/>
          </body>
        </body>
      </body>"""


def _inertial(link: dict[str, Any]) -> str:
    xx, yy, zz, xz = link["inertia"]
    full = _text((xx, yy, zz, 0, xz, 0))
    return f'<inertial mass="{link["mass"]!r}" pos="{_text(link["centre"])}" fullinertia="{full}"/>'


def _text(numbers: tuple[float, ...]) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


@lru_cache(maxsize=8)
def load_model(*, contact: bool = True, friction: float = NUMBERS["friction"], payload: float = 0.0) -> Any:
    """The robot as MuJoCo's model."""
    xml = model_xml(contact=contact, friction=friction, payload=payload)
    return load_mujoco().MjModel.from_xml_string(xml)


def nominal_data(model: Any) -> Any:
    """A robot in the nominal pose, before it settles."""
    data = load_mujoco().MjData(model)
    data.qpos[7:] = np.tile(NUMBERS["pose"], len(LEGS))
    return data


def engine(
    threads: int,
    friction: float = NUMBERS["friction"],
    payload: float = 0.0,
    strength: float = 1.0,
    latency: int = 0,
    pose: float = 0.0,
    key: int = 0,
) -> core.Engine:
    """MuJoCo for our episodes, one simulation for each thread."""
    mujoco = load_mujoco()
    world = core.laikago_world(friction, payload, strength, latency, pose, key)
    model = load_model(friction=friction, payload=payload)
    library = ctypes.CDLL(str(_library(mujoco)))
    functions = [_address(library, name) for name in ("mj_step", "mj_getState", "mj_setState")]
    which = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    first = nominal_data(model)
    start = np.zeros(mujoco.mj_stateSize(model, which))
    mujoco.mj_getState(model, first, start, which)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    addresses = [[d._address, d.qpos.ctypes.data, d.qvel.ctypes.data, d.ctrl.ctypes.data] for d in datas]
    return core.mujoco_engine(
        functions, model._address, which, start.tolist(), addresses, world, (model, datas, library)
    )


def _address(library: ctypes.CDLL, name: str) -> int:
    return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)


def _library(mujoco: Any) -> Path:
    """The shared library that the package has loaded."""
    folder = Path(mujoco.__file__).parent
    found = sorted([*folder.glob("libmujoco.so*"), *folder.glob("libmujoco*.dylib")])
    if not found:
        raise ValueError(f"there is no MuJoCo library in {folder}")
    return found[0]
