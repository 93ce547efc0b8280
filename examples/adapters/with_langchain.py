"""Run an agent of LangChain that looks into sixty jars, with a model of a small window.

Prints::

    120 requests, the longest of 46 messages
    in the thread: 240 messages
    still demanded: True
"""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from polycontext.adapters.langchain import ContextMiddleware

ASKED: list[list[Any]] = []


class Model(GenericFakeChatModel):
    """LangChain's fake model, extended to accept tools and to record its requests."""

    def bind_tools(self, tools: Any, **settings: Any) -> "Model":
        """Accept the tools."""
        return self

    def _generate(self, messages: list[Any], *args: Any, **settings: Any) -> Any:
        ASKED.append(messages)
        return super()._generate(messages, *args, **settings)


def look(jar: int) -> str:
    """Look into a jar."""
    return f"Jar {jar}: plums, " + "very ripe, " * 40


def said() -> Any:
    """Yield the model's messages: for each of sixty jars a call and an answer."""
    for jar in range(60):
        yield AIMessage(
            "", tool_calls=[{"name": "look", "args": {"jar": jar}, "id": f"call-{jar}"}]
        )
        yield f"Jar {jar} has plums."


agent = create_agent(
    Model(messages=said()),
    [look],
    system_prompt="You keep a cellar.",
    middleware=[ContextMiddleware(2000)],  # the only new line
    checkpointer=InMemorySaver(),
)
thread: Any = {"configurable": {"thread_id": "cellar"}}
agent.invoke({"messages": [("user", "What is in jar 0? Never open one.")]}, thread)
for number in range(1, 60):
    state = agent.invoke({"messages": [("user", f"And in jar {number}?")]}, thread)
print(f"{len(ASKED)} requests, the longest of {max(map(len, ASKED))} messages")
print("in the thread:", len(state["messages"]), "messages")
print("still demanded:", all("Never open one." in str(messages) for messages in ASKED))
