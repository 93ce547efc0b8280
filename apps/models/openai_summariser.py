"""Summaries by a model behind OpenAI's Chat Completions, or any server compatible with it."""

from typing import Any, ClassVar

from attrs import frozen

from polycontext.base import guided
from polycontext.window.providers import Provider

from .model_summariser import Asked, ModelSummariser


@guided
@frozen
class OpenAISummariser(ModelSummariser):
    """A summariser that calls a model through OpenAI's Chat Completions (docs/summarisers.md).

    The server may be OpenAI's or any other that speaks the format.

    Args:
        client: ``openai.OpenAI(...)``, or ``openai.AsyncOpenAI(...)`` for the methods that begin
            with an a. Without one, each summary opens a client that takes `OPENAI_BASE_URL` and
            `OPENAI_API_KEY` from the environment.
        model: The provider's name for the model.
        tools: The tool definitions of the conversation's own requests, in the same order. Without
            them, the cached prefix is not hit.
        options: Further fields of the request, such as ``reasoning_effort`` or
            ``prompt_cache_key``. They override those set here.
        headers: Further headers of the request.
        on_prefix: Whether the model reads the conversation as it was sent before, which is cheap if
            the same model answers the conversation. False sends only the turns to summarise,
            fenced. Use it for a different model, or one that is susceptible to prompt injection.
        max_input_tokens: The maximum tokens of a request; longer text is read in pieces. By default
            the model's window less the answer. Required for a model that `find_model` does not
            know.
        max_summary_tokens: The maximum tokens of a summary, even if there is more room.
        timeout: Seconds that the SDK waits for an answer; by default the client's setting.
        max_retries: The number of retries; by default the client's setting.
        heard: A callback that receives the usage of each answer.

    Raises:
        InvalidOptionError: an option is invalid.
        UnknownNameError: the model's window is not known.
        MissingExtraError: no client is given and the SDK is not installed.
    """

    package: ClassVar[str] = "openai"
    clients: ClassVar[tuple[str, str]] = ("OpenAI", "AsyncOpenAI")
    provider: ClassVar[Provider] = Provider.OPENAI

    def _create(self, client: Any, asked: Asked) -> Any:
        tools = {"tools": list(self.tools)} if self.tools and asked.own else {}
        room = {} if "max_tokens" in self.options else {"max_completion_tokens": asked.answer}
        return client.chat.completions.create(
            model=self.model,
            messages=self._render(asked).messages,
            extra_body={**room, **tools, **asked.options, **self.options},
            extra_headers=dict(self.headers),
        )

    def _text(self, answer: Any) -> str:
        choices = getattr(answer, "choices", None)
        if not choices:
            raise self._error("no choices")
        message, why = choices[0].message, choices[0].finish_reason
        if getattr(message, "refusal", None):
            raise self._error(f"a refusal: {message.refusal:.200}")
        if why == "content_filter":
            raise self._error("what a content filter cut off")
        if why == "length":
            raise self._error(
                "a text that was cut off (finish_reason length)",
                "a larger max_completion_tokens in `options`",
            )
        if message.tool_calls:
            raise self._error("a call of a tool instead of text")
        if not isinstance(message.content, str):
            raise self._error("no content")
        return message.content
