"""Anthropic's Messages. The request's `schema` is the format object of `output_config`, whole, as it is sent.

The version of the API is a header that decides what parameters are and mean (2026-10-21 takes no temperature), and an
SDK changes its own with a release: it is the request's, under the header's name among the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from warrant.calls.providers.answer_schemas import answer_schema, in_order
from warrant.calls.providers.wire import FORMAT, Answer, Api, Connection, NoAnswer, parts, text_or_none
from warrant.calls.request_key import Request

VERSION: Final = "anthropic-version"
CUT_OFF: Final = ("max_tokens", "model_context_window_exceeded", "pause_turn")


def request(
    settings: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], contract: str, replicate: int
) -> Request:
    """The request that a judge's block (what it sends) and messages make."""
    parameters = {**settings["parameters"], **settings["extra_body"], VERSION: settings["api_version"]}
    schema = {"type": "json_schema", "schema": answer_schema(contract)} if settings["structured"] else None
    return Request("anthropic", settings["base_url"], settings["model"], messages, parameters, schema, replicate)


class Anthropic(Api):
    """Anthropic."""

    settings_of: ClassVar[Mapping[str, str]] = {"output_config": FORMAT, VERSION: "api_version"}

    def connect(self, base_url: str, key: str) -> Connection:
        """A client without retries or traces; headers of the environment are not taken."""
        import anthropic

        http = anthropic.DefaultAsyncHttpxClient(**self.http_options(base_url))
        client = anthropic.AsyncAnthropic(
            api_key=key, base_url=base_url, max_retries=0, http_client=http, open_telemetry=False
        )
        client._custom_headers = {}
        return Connection(anthropic, client)

    def path(self, request: Request) -> str:
        """Of Messages."""
        return "/v1/messages"

    def headers(self, request: Request) -> Mapping[str, str]:
        """The version of the API."""
        return {VERSION: request.parameters[VERSION]}

    def body(self, request: Request) -> Mapping[str, Any]:
        """Model, messages, parameters and the format of the answer."""
        body = {"model": request.model, "messages": request.messages, **request.parameters}
        del body[VERSION]
        if request.schema is not None:
            body["output_config"] = {**body.get("output_config", {}), "format": in_order(request.schema)}
        return body

    def read(self, request: Request, body: Mapping[str, Any]) -> Answer:
        """Every text block; thinking is in the raw body only."""
        content, reason = body.get("content"), text_or_none(body.get("stop_reason"))
        if body.get("type") != "message" or not isinstance(content, list):
            raise NoAnswer("bad_body", "no message")
        return Answer(parts(content, "text", "text"), reason, reason == "refusal", reason in CUT_OFF)
