"""Send a long conversation to a model of a small window through LiteLLM.

Prints::

    60 requests, the longest of 28 messages
    in the list: 121 messages
    still demanded: True
"""

import asyncio
import os
import warnings
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # do not download the price list
warnings.filterwarnings("ignore", "Item '.*' on TypedDict class")  # LiteLLM's types, on Python 3.11

import litellm  # noqa: E402 - reads the environment

from polycontext.adapters.litellm import ContextCallback  # noqa: E402 - as above

ASKED: list[Any] = []


class Model(litellm.CustomLLM):
    """A custom provider that records the requests it gets."""

    async def acompletion(
        self, messages: Any, *args: Any, **settings: Any
    ) -> litellm.ModelResponse:
        """Return a fixed answer."""
        ASKED.append(messages)
        return litellm.ModelResponse(
            choices=[
                {"message": {"role": "assistant", "content": "It has plums, " + "very ripe, " * 40}}
            ]
        )


async def main() -> None:
    """Ask about sixty jars."""
    litellm.custom_provider_map = [{"provider": "cellar", "custom_handler": Model()}]
    litellm.callbacks = [ContextCallback(2000)]  # the only new line
    messages: list[Any] = [{"role": "system", "content": "You keep a cellar."}]
    for jar in range(60):
        messages.append({"role": "user", "content": f"What is in jar {jar}? Never open one."})
        answer = await litellm.acompletion(model="cellar/keeper", messages=messages)
        messages.append(answer.choices[0].message)
    print(f"{len(ASKED)} requests, the longest of {max(map(len, ASKED))} messages")
    print("in the list:", len(messages), "messages")
    print("still demanded:", all("Never open one." in str(sent) for sent in ASKED))


if __name__ == "__main__":
    asyncio.run(main())
