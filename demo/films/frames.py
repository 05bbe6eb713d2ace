"""Paint one instant of a film."""

from __future__ import annotations

from PIL import Image

from .body import Joints
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

    def paint(self, world: World, blink: frozenset[str] = frozenset()) -> Image.Image:
        """Paint one instant, the eyes of those who ``blink`` shut: RGB, 480 by 270 pixels."""
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
                    _person(Brush(layer), world, who, who in blink)

            draw_door(brush, world.place.find("door"), world.door, people if behind else None)
        self._front(brush, world, [who for who in seen if who not in behind], blink)
        return image.reduce(FINE)

    def _front(self, brush: Brush, world: World, people: list[str], blink: frozenset[str]) -> None:
        """Everything before the wall, the farthest first; what is in the air comes last."""
        lying = [thing for thing in world.things.values() if not thing.holder]
        flying = [thing for thing in lying if thing.kind == "ball" and thing.up > 0]
        layers: list[tuple[float, object]] = [(world.poses[who].z, who) for who in people]
        layers += [(thing.z, thing) for thing in lying if thing not in flying]
        for _, item in sorted(layers, key=lambda layer: -layer[0]):
            if isinstance(item, str):
                _person(brush, world, item, item in blink)
            else:
                draw_lying(brush, item)  # type: ignore[arg-type]
        for thing in flying:
            draw_lying(brush, thing)


def _person(brush: Brush, world: World, who: str, shut: bool) -> None:
    pose = world.poses[who]

    def holds(joints: Joints) -> None:
        for thing in world.things.values():
            if thing.holder == who:
                draw_held(brush, thing, joints)

    draw_person(brush, CAST[who], pose, holds, shut)


def blinking(world: World, frame: int) -> frozenset[str]:
    """Who blinks in this frame: everybody does every few seconds, each in their own time."""
    names = ((who, sum(map(ord, who))) for who in world.poses)
    return frozenset(who for who, own in names if (frame + own) % (31 + 5 * (own % 5)) == 0)
