"""What talks to a model, and the scripted one that answers offline."""

from polycontext.nodes.models.scripted_model import ScriptedModel, ScriptEndedError

__all__ = ["ScriptEndedError", "ScriptedModel"]
