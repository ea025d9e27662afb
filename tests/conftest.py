"""For all tests."""

from arz.tasks import mujoco_model

mujoco_model.draw_without_screen()
