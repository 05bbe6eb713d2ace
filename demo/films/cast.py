"""The cast: nine people told apart by age, hair, height and the colour of their clothes."""

from __future__ import annotations

from dataclasses import dataclass

from .body import Build


@dataclass(frozen=True, slots=True)
class Person:
    """One of the cast: what a query may say about them, and how they are drawn."""

    name: str
    kind: str  # man, woman, boy or girl
    age: str  # adult, child or old
    wears: str  # the colour a query would name
    build: Build
    skin: str
    hair: str
    style: str  # short, long, bun, pigtails or bald
    top: str
    bottom: str
    outfit: str = "trousers"  # or dress, skirt, shorts
    beard: bool = False
    glasses: bool = False
    tie: str = ""


_MAN = Build(142.0)
_WOMAN = Build(134.0, leg=0.475, torso=0.29)
_CHILD = Build(98.0, leg=0.43, torso=0.285, arm=0.34, head=0.128)
_OLD = Build(130.0, leg=0.455, stoop=7.0)

CAST: dict[str, Person] = {
    person.name: person
    for person in (
        Person("ben", "man", "adult", "red", _MAN, "#f1c7a3", "#5b3a26", "short", "#d2453b", "#35425b"),
        Person(
            "omar",
            "man",
            "adult",
            "blue",
            Build(146.0),
            "#a86f49",
            "#2b2320",
            "short",
            "#2f6fbf",
            "#4a4038",
            beard=True,
        ),
        Person(
            "leo",
            "man",
            "adult",
            "white",
            Build(140.0),
            "#f4d2b4",
            "#c9973f",
            "short",
            "#f6f4ee",
            "#6b6f7d",
            tie="#1f7a6d",
        ),
        Person(
            "ann",
            "woman",
            "adult",
            "green",
            _WOMAN,
            "#f3cfb0",
            "#3d2a22",
            "long",
            "#2f9464",
            "#2f9464",
            "dress",
        ),
        Person("ivy", "woman", "adult", "yellow", _WOMAN, "#f6d8bd", "#b5502c", "bun", "#f2b632", "#5a4b8a"),
        Person(
            "mei",
            "woman",
            "adult",
            "purple",
            Build(130.0, torso=0.29),
            "#e9bd93",
            "#1f1d24",
            "long",
            "#8b52a8",
            "#3c3a4d",
            "skirt",
        ),
        Person(
            "tim",
            "boy",
            "child",
            "orange",
            _CHILD,
            "#f3cba8",
            "#7a4a25",
            "short",
            "#ee7f32",
            "#3f6f9f",
            "shorts",
        ),
        Person(
            "zoe",
            "girl",
            "child",
            "pink",
            Build(94.0, leg=0.43, torso=0.285, arm=0.34, head=0.13),
            "#8d5a3b",
            "#2a1d1a",
            "pigtails",
            "#ea6f9e",
            "#ea6f9e",
            "dress",
        ),
        Person(
            "gus",
            "man",
            "old",
            "grey",
            _OLD,
            "#f0c9ad",
            "#dcdcdc",
            "bald",
            "#77808c",
            "#59493f",
            beard=True,
            glasses=True,
        ),
        Person(
            "ada",
            "woman",
            "old",
            "teal",
            Build(124.0, leg=0.455, stoop=6.0),
            "#efc8ad",
            "#e4e4e8",
            "bun",
            "#2d8c97",
            "#2d8c97",
            "dress",
            glasses=True,
        ),
    )
}
