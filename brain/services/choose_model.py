"""Which embedding model this lake uses, and which are on this machine."""

from dataclasses import dataclass

from brain import config
from brain.embedding import DEFAULT, ModelIdentity, load
from brain.embedding.installed import find
from brain.errors import ModelUnavailable
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model by the name that `brain model use` takes. `reason` says why it is not installed."""

    name: str
    used: bool
    default: bool
    installed: bool
    identity: ModelIdentity | None
    folder: str | None
    bytes: int | None
    reason: str | None


def list_models(ws: Workspace) -> list[ModelState]:
    """The default model and, where it is another, the configured one. Loads nothing but the latter."""
    used = ws.settings.embedder
    models = [_default(used == DEFAULT)]
    if used != DEFAULT:
        embedder, reason = ws.embedder_or_none()
        identity = embedder.identity if embedder else None
        models.append(ModelState(used, True, False, embedder is not None, identity, None, None, reason))
    return models


def use_model(ws: Workspace, name: str) -> ModelIdentity:
    """Make `name` the lake's model from now on, in config.toml; vectors follow with the next indexing.

    Raises ModelUnavailable when it is not on this machine, UsageError when config.toml cannot be edited; nothing is
    changed then.
    """
    identity = load(name).identity
    config.change(ws.home.ensure(), "embedder", name)
    return identity


def _default(used: bool) -> ModelState:
    try:
        found = find()
    except ModelUnavailable as error:
        return ModelState(DEFAULT, used, True, False, None, None, None, str(error))
    return ModelState(DEFAULT, used, True, True, found.identity, str(found.folder), found.size, None)
