"""What a rig may hold at a given place, read off the models: for unknown keys and for overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tokgate.rig.spelling import KeyPath, child


class Kind(StrEnum):
    TABLE = "table"  # a model: only its fields
    OPEN = "open table"  # a dict: any name
    LIST = "list"  # items, by index or by their `name`
    VALUE = "value"


@dataclass(frozen=True)
class Place:
    kind: Kind
    model: type[BaseModel] | None = None  # of a TABLE
    item: object = None  # annotation of what an OPEN table or a LIST holds
    text_only: bool = False  # a VALUE that can be nothing but a text

    @property
    def names(self) -> tuple[str, ...]:
        """Known names under a TABLE; empty elsewhere."""
        return tuple(self.model.model_fields) if self.model else ()

    def under(self, part: str | int) -> object:
        """Annotation of what lies under `part`."""
        if self.model is not None and isinstance(part, str):
            return self.model.model_fields[part].annotation
        return self.item


def look(annotation: object, value: object) -> Place:
    """Say what `annotation` allows; `value`, as far as it is known, picks among several models."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        choices = [a for a in arguments if a is not NoneType]
        models = [c for c in choices if _is_model(c)]
        if models:
            return look(_pick(models, value), value)
        return look(choices[0], value) if len(choices) == 1 else Place(Kind.VALUE)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Place(Kind.TABLE, model=annotation)
    if origin is dict:
        return Place(Kind.OPEN, item=arguments[1])
    if origin is tuple and arguments[-1] is Ellipsis:
        return Place(Kind.LIST, item=arguments[0])
    return Place(Kind.VALUE, text_only=annotation is str)


def place_at(model: type[BaseModel], path: KeyPath, data: object) -> Place | None:
    """Return the place at `path` below `model`, or None where the path leaves what is known."""
    place, node = look(model, data), data
    for part in path:
        if place.kind is Kind.VALUE or (place.kind is Kind.TABLE and part not in place.names):
            return None
        node = child(node, part)
        place = look(place.under(part), node)
    return place


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _pick(models: list[type[BaseModel]], value: object) -> type[BaseModel]:
    """Choose the model whose `kind` the value states; failing that, the one that shares most keys."""
    if not isinstance(value, Mapping):
        return models[0]
    for model in models:
        kind = model.model_fields.get("kind")
        if kind and get_origin(kind.annotation) is Literal and value.get("kind") in get_args(kind.annotation):
            return model
    return max(models, key=lambda m: len(m.model_fields.keys() & value.keys()))
