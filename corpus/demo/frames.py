"""Paint one instant of a film."""

from __future__ import annotations

from PIL import Image

from .body import Joints, Pose
from .brush import FINE, Brush
from .cast import CAST
from .draw_people import draw_person
from .draw_rooms import draw_door, draw_place
from .draw_things import draw_held, draw_ink, draw_lying
from .stage import World

BEHIND = 1.0  # people deeper than the wall are seen through the door only


class Painter:
    """Paints the frames of one film; the room behind them is drawn once."""

    def __init__(self, world: World) -> None:
        self._room = draw_place(world.place)

    def paint(self, world: World, frame: int) -> Image.Image:
        """Paint the world in frame number ``frame`` (it tells who blinks): RGB, 480 by 270."""
        image = self._room.copy()
        brush = Brush(image)
        seen = sorted(
            (who for who, pose in world.poses.items() if not pose.hidden), key=lambda w: -world.poses[w].z
        )
        behind = [who for who in seen if world.poses[who].z > BEHIND]
        if world.place.has("board") and world.ink:
            draw_ink(brush, world.place.find("board"), world.ink)
        if world.place.has("door"):

            def people(layer: Image.Image) -> None:
                for who in behind:
                    _person(Brush(layer), world, who, frame)

            draw_door(brush, world.place.find("door"), world.door, people if behind else None)
        self._front(brush, world, [who for who in seen if who not in behind], frame)
        return image.reduce(FINE)

    def _front(self, brush: Brush, world: World, people: list[str], frame: int) -> None:
        """Everything before the wall, the farthest first; what is in the air comes last."""
        lying = [thing for thing in world.things.values() if not thing.holder]
        flying = [thing for thing in lying if thing.kind == "ball" and thing.up > 0]
        layers: list[tuple[float, object]] = [(world.poses[who].z, who) for who in people]
        layers += [(thing.z, thing) for thing in lying if thing not in flying]
        for _, item in sorted(layers, key=lambda layer: -layer[0]):
            if isinstance(item, str):
                _person(brush, world, item, frame)
            else:
                draw_lying(brush, item)  # type: ignore[arg-type]
        for thing in flying:
            draw_lying(brush, thing)


def _person(brush: Brush, world: World, who: str, frame: int) -> None:
    pose = world.poses[who]

    def holds(joints: Joints) -> None:
        for thing in world.things.values():
            if thing.holder == who:
                draw_held(brush, thing, joints)

    draw_person(brush, CAST[who], pose, holds, _blinks(who, pose, frame))


def _blinks(who: str, pose: Pose, frame: int) -> bool:
    """Everybody blinks every few seconds, each in their own time."""
    pace = 31 + 5 * (sum(map(ord, who)) % 5)
    return (frame + sum(map(ord, who))) % pace == 0
