"""Reading the configuration: unknown keys are refused with the nearest valid key named."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from warrant.blocks import Run, Workflow
from warrant.errors import InputError, bad_input
from warrant.judge_blocks import Judge, Models

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a repeated key, or one that YAML does not read as a name, is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping, each key once (merged ones may be overlaid)."""
        names = [self.construct_object(key) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key, _ in node.value:
            name = self.construct_object(key) if key.tag != "tag:yaml.org,2002:merge" else ""
            if name is None or isinstance(name, bool):
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key.value}: write it in quotes", key.start_mark
                )
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} twice", key.start_mark)
        return super().construct_mapping(node, deep)


def read_run(folder: Path, name: str) -> Run:
    """Read a run file, with what it extends; InputError in one line per mistake."""
    path = folder / f"{name}.yaml"
    return _validated(Run, _merged(folder, name, ()), path)


def _merged(folder: Path, name: str, below: tuple[str, ...]) -> dict[str, Any]:
    path = folder / f"{name}.yaml"
    if name in below:
        raise bad_input(path, field="extends", found=" -> ".join((*below, name)), expected="no circle")
    if not path.is_file():
        known = sorted(item.stem for item in folder.glob("*.yaml"))
        raise InputError(f"{path}: no such run, {_nearest(name, known) or f'runs are {known}'}")
    content = _mapping(path)
    parent = content.pop("extends", None)
    return content if parent is None else _overlaid(_merged(folder, str(parent), (*below, name)), content)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise bad_input(path, found=str(error), expected="YAML in UTF-8") from error
    if not isinstance(content, dict):
        raise bad_input(path, found=content, expected="a mapping")
    return content


def read_models(path: Path) -> dict[str, Judge]:
    """Judges by name; InputError in one line per mistake."""
    return _validated(Models, _mapping(path), path).root


def _overlaid(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, mappings merged key by key; a null removes the key."""
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _overlaid(merged[key], value)
        else:
            merged[key] = value
    return merged


def read_workflow(config: Mapping[str, Any]) -> Workflow:
    """Validate Snakemake's config (file and command line)."""
    return _validated(Workflow, dict(config), Path("config/config.yaml"))


def _validated(model: type[Model], content: Mapping[str, Any], path: Path) -> Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [_line(model, path, item) for item in error.errors()]
        raise InputError("\n".join(dict.fromkeys(lines))) from None


def _line(model: type[BaseModel], path: Path, item: Any) -> str:
    place = ".".join(str(part) for part in _without_kind(item["loc"]))
    if item["type"] == "extra_forbidden":
        keys = sorted(_keys_at(model, item["loc"][:-1]))
        return f"{path}, field {place}: unknown key, {_nearest(str(item['loc'][-1]), keys) or f'valid keys are {keys}'}"
    if item["type"] == "missing":
        return f"{path}, field {place}: found nothing, expected a value"
    said = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if item["type"] == "value_error":  # a block whose parts do not fit: the message says which
        return f"{path}, field {place}: {said}"
    return str(bad_input(path, field=place, found=item["input"], expected=said))


def _without_kind(location: Sequence[Any]) -> Sequence[Any]:
    """A location without the step that only tells which kind a study is."""
    if len(location) > 2 and location[0] == "studies" and location[2] in ("verdict", "debate"):
        return (*location[:2], *location[3:])
    return location


def _nearest(word: str, known: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else None


def _keys_at(model: type[BaseModel], location: Sequence[Any]) -> set[str]:
    """Valid keys of the block at a location of a validation error."""
    root = model.model_fields.get("root")  # a mapping of blocks by name
    here: list[type[BaseModel]] = [model] if root is None else list(_models_in(root.annotation))
    for part in location:
        nested = [inner for block in here for inner in _blocks(block, str(part))]
        here = nested or here
    return {name for block in here for name in block.model_fields}


def _blocks(block: type[BaseModel], part: str) -> Iterator[type[BaseModel]]:
    info = block.model_fields.get(part)
    if info is not None:
        yield from _models_in(info.annotation)
    for tag in ("format", "kind"):  # the tag of a discriminated union is a step of the location
        if tag in block.model_fields and part in get_args(block.model_fields[tag].annotation):
            yield block


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def schemas() -> dict[str, dict[str, Any]]:
    """JSON schemas of the configuration files, by file name; committed and held to the models by a test."""
    workflow = Workflow.model_json_schema()
    workflow["properties"]["runs"] = {"anyOf": [workflow["properties"]["runs"], {"type": "string"}]}
    run = _without_required(Run.model_json_schema())
    run["properties"]["extends"] = {"type": "string", "description": "a run whose keys this one overlays"}
    return {"config.schema.json": workflow, "models.schema.json": Models.model_json_schema(), "run.schema.json": run}


def _without_required(schema: Any) -> Any:
    """A file that extends another holds parts of blocks: what is required is checked once they are merged."""
    if isinstance(schema, dict):
        return {key: _without_required(value) for key, value in schema.items() if key != "required"}
    return [_without_required(item) for item in schema] if isinstance(schema, list) else schema


if __name__ == "__main__":  # PYTHONPATH=scripts python -m warrant.config: write the committed schemas anew
    for file, schema in schemas().items():
        target = Path(__file__).parents[2] / "workflow" / "schemas" / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(schema, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
