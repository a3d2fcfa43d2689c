"""OpenAI's Chat Completions and Responses, and every server that speaks Chat Completions.

The request's `provider` says which: `openai` and `openai_compatible` are Chat Completions, `openai_responses` is
Responses. Its `schema` is the format object of the API, whole, as it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from warrant.calls.providers.answer_schemas import answer_schema, in_order
from warrant.calls.providers.wire import FORMAT, Answer, Api, Connection, NoAnswer, parts, text_or_none
from warrant.calls.request_key import Request

RESPONSES: Final = "openai_responses"
LOGPROBS: Final = "message.output_text.logprobs"
CUT_OFF: Final = ("length", "model_length", "max_tokens")
BROKEN: Final = ("error", "insufficient_system_resource")  # finish reasons of answers that the server gave up


def request(
    settings: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], contract: str, replicate: int
) -> Request:
    """The request that a judge's block (what it sends) and messages make."""
    responses = settings.get("api") == "responses"
    parameters = {**settings["parameters"], **settings["extra_body"]}
    most = settings["log_probabilities"]
    if most is not None and responses:
        parameters |= {"top_logprobs": most, "include": [*parameters.get("include", []), LOGPROBS]}
    elif most is not None:
        parameters |= {"logprobs": True, "top_logprobs": most}
    schema = None
    if settings["structured"]:
        named = {"name": "answer", "strict": True, "schema": answer_schema(contract)}
        schema = {"type": "json_schema", **(named if responses else {"json_schema": named})}
    provider = RESPONSES if responses else settings["provider"]
    return Request(provider, settings["base_url"], settings["model"], messages, parameters, schema, replicate)


class OpenAI(Api):
    """OpenAI, or a server that speaks as it does."""

    settings_of: ClassVar[Mapping[str, str]] = {
        "logprobs": "log_probabilities",
        "top_logprobs": "log_probabilities",
        "include": "log_probabilities",
        "response_format": FORMAT,
        "text": FORMAT,
    }

    def connect(self, base_url: str, key: str) -> Connection:
        """A client without retries; what the environment says of organisation, project and headers is not taken."""
        import openai

        http = openai.DefaultAsyncHttpxClient(**self.http_options(base_url))
        client = openai.AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0, http_client=http)
        client.organization = client.project = None
        client._custom_headers = {}
        return Connection(openai, client)

    def path(self, request: Request) -> str:
        """Of the API that the request is for."""
        return "/responses" if request.provider == RESPONSES else "/chat/completions"

    def body(self, request: Request) -> Mapping[str, Any]:
        """Model, messages, parameters and the format of the answer."""
        responses = request.provider == RESPONSES
        body = {"model": request.model, "input" if responses else "messages": request.messages, **request.parameters}
        if request.schema is not None and responses:
            body["text"] = {**body.get("text", {}), "format": in_order(request.schema)}
        elif request.schema is not None:
            body["response_format"] = in_order(request.schema)
        return body

    def read(self, request: Request, body: Mapping[str, Any]) -> Answer:
        """The answer, by API."""
        return _responses(body) if request.provider == RESPONSES else _chat(body)


def _chat(body: Mapping[str, Any]) -> Answer:
    """The first choice. A refusal's words are its text where there is no other."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise NoAnswer("bad_body", "no choices")
    choice = choices[0]
    message, finish = choice.get("message"), text_or_none(choice.get("finish_reason"))
    if choice.get("error") or finish in BROKEN:
        raise NoAnswer("error_body", f"the answer broke off: {choice.get('error') or finish}")
    if not isinstance(message, Mapping):
        raise NoAnswer("bad_body", "no message")
    content, refusal = message.get("content"), message.get("refusal")
    text = content if isinstance(content, str) else parts(content, "text", "text")
    refused = bool(refusal) or finish == "content_filter"
    return Answer(text or _text(refusal), finish, refused, finish in CUT_OFF)


def _responses(body: Mapping[str, Any]) -> Answer:
    """Every text of every message; why it is incomplete, where it is."""
    output, status = body.get("output"), body.get("status")
    if not isinstance(output, list) or status not in ("completed", "incomplete"):
        raise NoAnswer("error_body" if status else "bad_body", f"status {status}")
    contents = [item.get("content") for item in output if isinstance(item, Mapping) and item.get("type") == "message"]
    text = "".join(parts(content, "output_text", "text") for content in contents)
    refusal = "".join(parts(content, "refusal", "refusal") for content in contents)
    details = body.get("incomplete_details")
    reason = text_or_none(details.get("reason")) if isinstance(details, Mapping) else None
    refused = bool(refusal) or reason == "content_filter"
    return Answer(text or refusal, reason or status, refused, status == "incomplete")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
