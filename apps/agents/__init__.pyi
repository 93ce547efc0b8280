from .agent import Agent
from .answering import AgentAnswering
from .answers import (
    Blocked,
    Deed,
    Plan,
    PlannedStep,
    Retained,
    Summary,
    ToolUse,
    Understanding,
    Written,
)
from .forms import AnswerError, Form, Ref, parameters_of, read_answer, schema_of
from .machine import AgentMachine, NodeRegion
from .memory import AgentMemory
from .models import SdkModel, model_of
from .recollection import Recollection
from .requests import Model, ModelRequest
from .tools import Tool, ToolError

__all__ = [
    "Agent",
    "AgentAnswering",
    "AgentMachine",
    "AgentMemory",
    "AnswerError",
    "Blocked",
    "Deed",
    "Form",
    "Model",
    "ModelRequest",
    "NodeRegion",
    "Plan",
    "PlannedStep",
    "Recollection",
    "Ref",
    "Retained",
    "SdkModel",
    "Summary",
    "Tool",
    "ToolError",
    "ToolUse",
    "Understanding",
    "Written",
    "model_of",
    "parameters_of",
    "read_answer",
    "schema_of",
]
