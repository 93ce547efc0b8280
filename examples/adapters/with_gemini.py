"""Chat with Google's genai SDK in a conversation that outgrows its window.

The SDK's chat keeps the whole conversation, and a stand-in for the API answers.

Prints::

    80 contents in the chat, at most 65 in a request
    the last request begins: user: 0: what is on this shelf? Never open a jar.
"""

from collections.abc import Mapping
from typing import Any

from google import genai

from polycontext.adapters.gemini import wrap
from polycontext.testing.strict import StrictGemini, StrictServer

requests: list[list[dict[str, Any]]] = []


def reply(request: Mapping[str, Any]) -> str:
    """Record a request, and return a fixed answer."""
    requests.append(request["contents"])
    return "Plums, and behind them pears."


with StrictServer((StrictGemini(reply),)) as server:
    options: Any = {"base_url": server.url}
    client = wrap(genai.Client(api_key="none", http_options=options), 2_000)  # the only change
    chat = client.chats.create(model="gemini-3-pro")
    for shelf in range(40):
        chat.send_message(
            f"{shelf}: what is on this shelf? "
            + ("Look closely. " * 12 if shelf else "Never open a jar.")
        )

kept, most = len(chat.get_history()), max(map(len, requests))
print(f"{kept} contents in the chat, at most {most} in a request")
print(f"the last request begins: user: {requests[-1][0]['parts'][0]['text']}")
