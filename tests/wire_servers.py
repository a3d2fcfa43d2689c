"""Loopback servers that speak the wire formats of OpenAI (Chat Completions, Responses) and Anthropic (Messages).

They are plain asyncio and know no SDK: what arrives is kept as bytes, what is sent back is written out by hand, and
faults come on demand. A server runs in a thread of its own, so that synchronous and asynchronous code can call it.

    with serving() as server:          # answers every well-formed call
        server.script += [overloaded(529), cut_off_json(answer)]  # what the next calls get, in this order
        server.base_url("openai")
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

VERDICT: Final = '{"verdict": "REFUTES", "confidence": 0.85, "reasoning": "Größer als 5 €."}'
PATHS: Final = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}
ROUTES: Final = {"openai": "/v1", "openai_compatible": "/v1", "anthropic": ""}


@dataclass(frozen=True)
class Call:
    """A request as it arrived; header names in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def api(self) -> str:
        """chat, responses or messages; empty for another path."""
        return PATHS.get(self.path, "")

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        found: dict[str, Any] = json.loads(self.content)
        return found


@dataclass(frozen=True)
class Reply:
    """What goes back, and how.

    stated: Content-Length, where it is not the truth. reset: the connection is reset after the content (True: RST).
    delay: seconds before anything is sent; drip: seconds between single bytes of the content.
    """

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    stated: int | None = None
    reset: bool = False
    delay: float = 0.0
    drip: float = 0.0


Making = Reply | Callable[[Call], Reply]

# --- answers ---------------------------------------------------------------------------------------------------------


def ok(body: Any, **how: Any) -> Reply:
    """A JSON body under HTTP 200."""
    return Reply(200, json.dumps(body).encode(), **how)


def answer(call: Call, text: str = VERDICT, **changed: Any) -> Reply:
    """A well-formed answer in the format of the API that was called; `changed` replaces members of its object."""
    make: dict[str, Callable[[Call, str], dict[str, Any]]]
    make = {"chat": chat, "responses": responses, "messages": messages}
    return ok({**make[call.api](call, text), **changed})


def chat(call: Call, text: str | None, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal, "annotations": []}
    logprobs = None
    if call.body.get("logprobs"):
        token = {"token": "RE", "logprob": -0.012345678901234567, "bytes": [82, 69], "top_logprobs": []}
        logprobs = {"content": [token], "refusal": None}
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion",
        "created": 1741570283,
        "model": call.body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 19,
            "completion_tokens": 10,
            "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
    }


def responses(call: Call, text: str | None, reason: str | None = None, refusal: str | None = None) -> dict[str, Any]:
    """A response: reasoning and a message in two parts; reason: why it is incomplete."""
    parts: list[dict[str, Any]] = []
    if text is not None:
        half = len(text) // 2
        parts += [{"type": "output_text", "text": some, "annotations": []} for some in (text[:half], text[half:])]
    if refusal is not None:
        parts.append({"type": "refusal", "refusal": refusal})
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc054267",
        "object": "response",
        "created_at": 1741476542,
        "status": "completed" if reason is None else "incomplete",
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "model": call.body["model"],
        "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, message],
        "usage": {
            "input_tokens": 36,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 87,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 123,
        },
    }


def messages(call: Call, text: str | None, reason: str = "end_turn") -> dict[str, Any]:
    """A message: thinking and a text; no content at all without a text, as in refusals."""
    thinking = {"type": "thinking", "thinking": "Both sides?", "signature": "EqQBCgIYAhIM"}
    return {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": call.body["model"],
        "content": [] if text is None else [thinking, {"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 2095,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 503,
            "service_tier": "standard",
        },
    }


# --- errors ----------------------------------------------------------------------------------------------------------

KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error(status: int, message: str, **given: Any) -> Callable[[Call], Reply]:
    """An error in the format of the API that was called; `given`: param and code (OpenAI's), headers."""
    headers = given.pop("headers", {})

    def make(call: Call) -> Reply:
        body: dict[str, Any]
        if call.api == "messages":
            kind = {"type": KINDS.get(status, "api_error"), "message": message}
            body = {"type": "error", "error": kind, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}
        else:
            named = "invalid_request_error" if status < 500 else "server_error"
            body = {"error": {"message": message, "type": named, "param": None, "code": None, **given}}
        return Reply(status, json.dumps(body).encode(), headers)

    return make


def overloaded(status: int, retry_after: str | None = None) -> Callable[[Call], Reply]:
    """408, 409, 429 or 5xx, with Retry-After."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return error(status, "Please try again later.", headers=headers)


def under_200(make: Callable[[Call], Reply]) -> Callable[[Call], Reply]:
    """The same body with status 200."""
    return lambda call: Reply(200, make(call).content)


def reset_in_body(call: Call) -> Reply:
    """Half an answer, then a TCP reset."""
    whole = answer(call).content
    return Reply(200, whole[: len(whole) // 2], stated=len(whole), reset=True)


def closed_in_body(call: Call) -> Reply:
    """Half an answer, then an orderly end, although more was announced."""
    whole = answer(call).content
    return Reply(200, whole[: len(whole) // 2], stated=len(whole))


def half_json(call: Call) -> Reply:
    """HTTP in order, JSON cut in half."""
    whole = answer(call).content
    return Reply(200, whole[: len(whole) // 2])


def dripping(seconds: float) -> Callable[[Call], Reply]:
    """An answer of which a byte comes every so many seconds."""
    return lambda call: Reply(200, answer(call).content, drip=seconds)


# --- the server ------------------------------------------------------------------------------------------------------


class Server:
    """One server. `script`: what the next calls get; `default` what all others get. `calls`: what arrived.

    most: calls answered at a time, at most. lag: seconds before each answer of the default.
    """

    def __init__(self, default: Making = answer, lag: float = 0.0) -> None:
        self.default, self.lag = default, lag
        self.script: list[Making] = []
        self.calls: list[Call] = []
        self.now = self.most = self.connections = 0
        self.port = 0

    def base_url(self, provider: str) -> str:
        """The base URL as a judge's block has it."""
        return f"http://127.0.0.1:{self.port}{ROUTES[provider]}"

    def reply(self, call: Call) -> Reply:
        """What a call gets: 404 or 401 unless it is well-formed, then the script, then the default."""
        self.calls.append(call)
        if call.method != "POST" or not call.api:
            return Reply(404, b'{"detail":"Not Found"}')
        if call.headers.get("content-type") != "application/json":
            return error(400, "expected JSON")(call)
        if call.api == "messages":
            version = call.headers.get("anthropic-version")
            if version not in ("2023-06-01", "2026-10-21"):
                return error(400, "anthropic-version: header is required")(call)
            removed = {"temperature", "top_p", "top_k"} & call.body.keys() if version == "2026-10-21" else ()
            for name in sorted(removed):
                return error(400, f"{name}: Extra inputs are not permitted")(call)
        make = self.script.pop(0) if self.script else self.default
        return make if isinstance(make, Reply) else make(call)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept open from call to call."""
        self.connections += 1
        try:
            # cancelled: the server ends, and asyncio reports what a connection raises
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (call := await read_call(reader)) is not None:
                    if not await self._answer(call, writer):
                        break
        finally:
            writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> bool:
        """Answer one call; whether the connection is still good."""
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            reply = self.reply(call)
            await asyncio.sleep(reply.delay + self.lag)
            return await send(writer, reply)
        finally:
            self.now -= 1


async def read_call(reader: asyncio.StreamReader) -> Call | None:
    """The next call on a connection; None at its end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return Call(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def send(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send a reply; whether the connection is still good."""
    length = len(reply.content) if reply.stated is None else reply.stated
    headers = {"content-type": "application/json", "content-length": str(length), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if reply.drip:
        for byte in reply.content:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(reply.drip)
    else:
        writer.write(reply.content)
        await writer.drain()
    if reply.reset:
        await asyncio.sleep(0.05)  # what was written is to arrive: a reset throws away what is on its way
        found: socket.socket = writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return not reply.reset and length == len(reply.content)


@contextmanager
def serving(default: Making = answer, lag: float = 0.0) -> Iterator[Server]:
    """A server on a free port of 127.0.0.1, in a thread with its own event loop."""
    server, ready = Server(default, lag), threading.Event()
    loop = asyncio.new_event_loop()
    ending = asyncio.Event()

    async def live() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        await ending.wait()
        listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # connections end in the turn after they were closed

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(10)
        loop.close()
