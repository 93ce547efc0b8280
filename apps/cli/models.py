"""`polycontext models`: the models whose window and price are known."""

from typing import Annotated, Any

from polycontext.base import UnknownNameError
from polycontext.cost import prices_of
from polycontext.window import find_model
from polycontext.window.model_profiles import known_models

from .command import argument, command
from .options import Json
from .output import write, write_columns, write_json


@command("polycontext models", "polycontext models gpt-5", "polycontext models claude --json")
def models(
    *, name: Annotated[str | None, argument(metavar="[NAME]", required=False)], as_json: Json
) -> None:
    """List the models that are known by name, with window, longest reply and price.

    With NAME, the model of that name, or all whose names contain it.

    Prices are in dollars per million tokens. A model that is not listed works as well: pass
    --max-tokens.
    """
    rows = [_row(each) for each in _named(name)]
    if as_json:
        write_json(rows, indent=2)
    elif name is not None and len(rows) == 1:
        write("".join(f"{key:<11}{value}\n" for key, value in rows[0].items()))
    else:
        columns = ("model", "window", "reply", "format", "input", "output")
        write_columns(columns, [[_shown(row[key]) for key in columns] for row in rows])


def _named(name: str | None) -> list[str]:
    """Return the known names that contain `name`, or the model that it is another name of."""
    names = sorted(known_models())
    if name is None:
        return names
    try:
        return [find_model(name).name]
    except UnknownNameError:
        if found := [each for each in names if name.lower() in each]:
            return found
        raise


def _row(name: str) -> dict[str, Any]:
    profile = find_model(name)
    try:
        prices = prices_of(name)
    except UnknownNameError:
        prices = None
    return {
        "model": name,
        "window": profile.window,
        "reply": profile.output,
        "format": str(profile.provider),
        "counts": "exact" if profile.exact else "estimated",
        "input": None if prices is None else prices.input,
        "output": None if prices is None else prices.output,
    }


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str("-" if value is None else value)
