"""Examples for the OpenAPI document, made from shapes: one value for each name of a field, wherever it stands."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

TIME = "2026-01-05T09:00:00Z"
TEXTS = {
    "name": "films",
    "campaign": "films",
    "corpus": "tvr",
    "corpus_name": "tvr",
    "format": "tvr",
    "encoder": "all-MiniLM-L6-v2",
    "user": "ada",
    "text": "Somebody opens a door.",
    "query": "Somebody opens a door.",
    "query_id": "17",
    "split": "val",
    "why": "The door is opened within the clip.",
    "reason": "wrong clip",
    "comment": "black picture",
    "before": "Monica sits down.",
    "after": "A woman sits down.",
    "description": "Monica sits down.",
    "caption": "A woman sits down.",
    "phrase": "woman",
    "word": "woman",
    "moment": "friends_s01e01@3200-7500",
    "video": "friends_s01e01",
    "clip": "/api/v1/clips/hKd0",
    "address": "https://hooks.example.org/reeljudge",
    "link": "https://judge.example.org/invitations/7bR0",
    "measure": "nDCG_IoU(iou=0.5)@20",
    "measures": "nDCG_IoU(iou=0.5)@20",
    "convention": "paper",
    "system": "stal",
    "features": "i3d",
    "filename": "run.json.gz",
    "kind": "freeze a release",
    "figure": "ties",
    "tells": "On 20% of the queries all systems have the same score.",
    "key": "figure-5b",
    "files": "figure-5b.svg",
    "title": "Films of 2024",
    "licence": "CC-BY-4.0",
    "sha256": "9f86d081",
    "token": "4f1c",
    "secret": "q2Zk",
    "currency": "EUR",
    "unfinished": "17",
    "message": "",
    "error": "",
    "type": "about:blank",
    "detail": "grade: 5; expected one of the integers 0, 1, 2, 3, 4",
    "code": "badvalue",
    "group": "stal",
    "paper": "https://example.org/paper",
    "purpose": "moments",
    "people": "ada",
    "state": "in round 2",
    "from": "2026-10-01",
    "to": "2026-10-31",
    "week": "2026-W05",
}
NUMBERS = {
    "id": 7,
    "grade": 4,
    "worker": 2,
    "size": 48213,
    "hours": 168,
    "status": 400,
    "batch": 7,
    "candidate": 41,
    "seconds": 6.1,
    "start": 3.2,
    "end": 7.5,
    "similarity": 0.83,
    "value": 0.31,
    "version": 3,
}


def example_of(field: serializers.Field, name: str = "") -> Any:
    """Return a value that a field or a whole shape may have.

    What may be null is null, unless its name has a value. A shape has all that is always there, or its first field.
    """
    if field.allow_null and name not in TEXTS | NUMBERS:
        return None
    if isinstance(field, serializers.ListField | serializers.ListSerializer):
        return [example_of(field.child, name)]
    if isinstance(field, serializers.Serializer):
        always = {key: each for key, each in field.fields.items() if _is_always_there(each)}
        chosen = always or dict(list(field.fields.items())[:1])
        return {key: example_of(each, key) for key, each in chosen.items()}
    if isinstance(field, serializers.DictField | serializers.JSONField):
        return {}
    if isinstance(field, serializers.SerializerMethodField):
        return TEXTS.get(name)
    if isinstance(field, serializers.BooleanField):
        return False
    if isinstance(field, serializers.DateTimeField | serializers.DateField):
        return TIME if isinstance(field, serializers.DateTimeField) else TIME[:10]
    if isinstance(field, serializers.UUIDField):
        return "6f1e6d3c-3e6b-4a57-9d4c-8d2f4b1f2a10"
    if isinstance(field, serializers.ChoiceField):
        return next(iter(field.choices))
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return _number(field, name)
    return TEXTS.get(name, name)


def _is_always_there(field: serializers.Field) -> bool:
    return field.required or field.read_only or field.default is not empty


def _number(field: Any, name: str) -> float:
    """Return the number of this name, in the range of the field and of its kind."""
    number = NUMBERS.get(name, 1 if isinstance(field, serializers.IntegerField) else 0.5)
    if choices := getattr(field, "choices", None):
        return float(number) if number in choices else int(choices[0])
    number = max(number, field.min_value or 0) if field.min_value is not None else number
    number = min(number, field.max_value) if field.max_value is not None else number
    return int(number) if isinstance(field, serializers.IntegerField) else number
