"""Summaries by a model behind OpenAI's Chat Completions, the vendor's own or any server that speaks that format."""

from typing import Any, ClassVar

from attrs import frozen

from polycontext.window.providers import Provider

from .model_summariser import Asked, ModelSummariser


@frozen
class OpenAISummariser(ModelSummariser):
    """Have a model of OpenAI's, or of a server that speaks Chat Completions, write the summaries (docs/summarisers.md).

    Args:
        client: ``openai.OpenAI(...)``, or ``openai.AsyncOpenAI(...)`` for the methods that begin
            with an a; without one, each summary opens one that takes `OPENAI_BASE_URL` and
            `OPENAI_API_KEY` from the environment.
        model: what the provider calls the model.
        tools: the definitions that the conversation's own requests have, in their order: without
            them the cache holds nothing.
        options: further fields of the request, such as ``reasoning_effort`` or
            ``prompt_cache_key``; they go before what is said here.
        headers: further headers of the request.
        on_prefix: whether the model reads the conversation as it was sent before, which is cheap
            where the same model answers it.
            False sends what yields alone, fenced: for another model than the conversation's, or one
                that is easily led astray.
        max_input_tokens: tokens that a request has at most; what is longer is read in pieces. By
            default what the model's window leaves beside the answer; to be said for a model that
            `find_model` does not know.
        max_summary_tokens: tokens of a summary at most, whatever room there is.
        timeout: seconds that the SDK waits for an answer. max_retries: how often it tries again.
            Those of the client unless said.
        heard: called with the usage of each answer.

    Raises:
        InvalidOptionError, UnknownNameError: an option that cannot be, a model whose window nobody
            knows.
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
