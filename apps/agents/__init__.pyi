from . import answers, forms
from .agent import Agent
from .answering import AgentAnswering
from .forms import Form, Ref
from .machine import AgentMachine, NodeRegion, SharedMachine, WriterRegion
from .memory import AgentMemory
from .models import model_of
from .recollection import Recollection
from .requests import Model
from .shared import SharedContext
from .tools import Tool, ToolError

__all__ = [
    "Agent",
    "AgentAnswering",
    "AgentMachine",
    "AgentMemory",
    "Form",
    "Model",
    "NodeRegion",
    "Recollection",
    "Ref",
    "SharedContext",
    "SharedMachine",
    "Tool",
    "ToolError",
    "WriterRegion",
    "answers",
    "forms",
    "model_of",
]
