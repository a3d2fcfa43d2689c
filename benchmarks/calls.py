"""Asking over a loopback server: raw HTTP, a bare loop over the SDK's client, and the query loop with its store.

One server in a process of its own answers Chat Completions after a latency; clients are fresh processes, in turns.
Timed is the asking alone: imports, requests and the store's creation are before it. Raw: a connection a worker, HTTP
written by hand. httpx2: what the SDK rests on, one client. Bare: AsyncOpenAI without retries, tasks under a semaphore,
answers parsed by the SDK and dropped. Ours: what scripts/query.py asks with, every answer committed; with a price, the
worst case of every call is committed before it, too. Each checks that it has every answer, the store and the server
that there was one call for each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "scripts")]

CLIENTS: Final = ("raw", "httpx2", "bare", "ours", "priced")
ABOUT: Final = {
    "raw": "raw HTTP",
    "httpx2": "httpx2",
    "bare": "bare loop over the SDK",
    "ours": "ours, no price",
    "priced": "ours, with a price",
}
MODEL: Final = "m-1"
VERDICT: Final = '{"verdict": "REFUTES", "confidence": 0.85, "reasoning": "The second block states another year."}'
EVIDENCE: Final = "Question: in which year was the bridge opened? Answer: in 1931, after four years of work. " * 12


def messages(number: int) -> list[dict[str, Any]]:
    """About 1,200 characters, as a claim with its evidence has."""
    return [{"role": "user", "content": f"Claim {number}: the bridge was opened in 1932.\n{EVIDENCE}"}]


# --- the server ------------------------------------------------------------------------------------------------------


class Answering(asyncio.Protocol):
    """Keep-alive HTTP/1.1, as little of it as the clients need; GET /count says how many calls came."""

    calls = 0

    def __init__(self, latency: float) -> None:
        self.latency, self.held = latency, b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end].lower()
            place = head.find(b"content-length:")
            length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            if len(self.held) < end + 4 + length:
                return
            self.held = self.held[end + 4 + length :]
            if head.startswith(b"get"):
                self.send(str(Answering.calls).encode())
                continue
            Answering.calls += 1
            if self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.send, BODY)
            else:
                self.send(BODY)

    def send(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


BODY: Final = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": VERDICT},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330},
        "system_fingerprint": "fp_1",
    }
).encode()


async def serve(latency: float) -> None:
    """Say the port, then answer until the end."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(latency), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(latency: float) -> Iterator[int]:
    """A server's port."""
    command = [sys.executable, __file__, "--role", "server", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.terminate()


def count(port: int) -> int:
    """Calls that came to the server."""
    import httpx2

    return int(httpx2.get(f"http://127.0.0.1:{port}/count", trust_env=False).text)


# --- the clients -----------------------------------------------------------------------------------------------------


async def at_most(in_flight: int, calls: int, one: Callable[[int], Awaitable[bool]]) -> None:
    """So many calls, so many at a time; an error if one has no answer."""
    places = asyncio.Semaphore(in_flight)

    async def ask(number: int) -> bool:
        async with places:
            return await one(number)

    assert all(await asyncio.gather(*(ask(number) for number in range(calls))))


async def raw(port: int, calls: int, in_flight: int) -> float:
    """Seconds that HTTP alone takes: each worker has a connection of its own, and writes and reads what it must."""
    numbers = iter(range(calls))

    async def worker() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answered = 0
        for number in numbers:
            body = json.dumps({"model": MODEL, "messages": messages(number), "max_tokens": 50}).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            came = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(came[came.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
            answer = json.loads(await reader.readexactly(length))
            answered += bool(answer["choices"][0]["message"]["content"])
        writer.close()
        return answered

    start = time.perf_counter()
    assert sum(await asyncio.gather(*(worker() for _ in range(in_flight)))) == calls
    return time.perf_counter() - start


async def pooled(port: int, calls: int, in_flight: int) -> float:
    """Seconds that the SDK's HTTP library takes."""
    import httpx2

    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(limits=limits, timeout=300, trust_env=False) as client:

        async def one(number: int) -> bool:
            answer = await client.post(url, json={"model": MODEL, "messages": messages(number), "max_tokens": 50})
            return bool(answer.json()["choices"][0]["message"]["content"])

        start = time.perf_counter()
        await at_most(in_flight, calls, one)
        return time.perf_counter() - start


async def bare(port: int, calls: int, in_flight: int) -> float:
    """Seconds that a loop over the SDK's client takes."""
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    http = openai.DefaultAsyncHttpxClient(limits=limits, timeout=300, trust_env=False)
    url = f"http://127.0.0.1:{port}/v1"
    async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=http) as client:

        async def one(number: int) -> bool:
            answer = await client.chat.completions.create(model=MODEL, messages=messages(number), max_tokens=50)  # type: ignore[arg-type]
            return bool(answer.choices[0].message.content)

        start = time.perf_counter()
        await at_most(in_flight, calls, one)
        return time.perf_counter() - start


def ours(port: int, calls: int, in_flight: int, folder: Path, price: bool) -> tuple[float, float]:
    """Seconds that the query loop takes, and the MiB that the process held before."""
    import query as program

    from warrant.calls.providers import Case, request_for
    from warrant.calls.query import Question
    from warrant.calls.store import Store
    from warrant.judge_blocks import ApiJudge, Models

    given: dict[str, Any] = {"provider": "openai_compatible", "model": MODEL, "parameters": {"max_tokens": 50}}
    if price:
        given["price"] = {"input": "2", "output": "10"}
    block = Models.model_validate({"j": {**given, "base_url": f"http://127.0.0.1:{port}/v1"}}).root["j"]
    assert isinstance(block, ApiJudge)
    sent, transport = block.sent(), json.loads(json.dumps(block.transport()))
    requests = [request_for("j", sent, messages(n), Case("0" * 64, "support", "4opt"), 0) for n in range(calls)]
    questions = [Question(request.key(), "j", request) for request in requests]
    settings = {"in_flight": in_flight, "judges": {"j": transport}, "allow_unpriced": True, "run": "benchmark"}
    with Store(folder / "s.sqlite") as store:
        import openai  # noqa: F401 - as the bare loop, which imports it before its clock starts

        before = peak()
        start = time.perf_counter()
        outcome = asyncio.run(program._ask(questions, settings, store))
        seconds = time.perf_counter() - start
        assert outcome.failures == []
        assert store.count() == calls
    return seconds, before


def peak() -> float:
    """MiB that the process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def client(role: str, port: int, calls: int, in_flight: int) -> None:
    """Ask, and print the seconds, MiB before the asking and at most."""
    plain = {"raw": raw, "httpx2": pooled, "bare": bare}
    if role in plain:
        seconds, before = asyncio.run(plain[role](port, calls, in_flight)), 0.0
    else:
        with tempfile.TemporaryDirectory() as folder:
            seconds, before = ours(port, calls, in_flight, Path(folder), role == "priced")
    print(json.dumps([seconds, before, peak()]))


def measured(role: str, port: int, calls: int, in_flight: int) -> tuple[float, float, float]:
    """What a client in a fresh process says; one call for each answer at the server."""
    before = count(port)
    command = [sys.executable, __file__, "--role", role, "--port", str(port), "--calls", str(calls)]
    environment = {**os.environ, "OPENAI_API_KEY": "k"}
    done = subprocess.run(
        [*command, "--in-flight", str(in_flight)], capture_output=True, text=True,
        env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert count(port) - before == calls, "not one call for each answer"
    seconds, held, most = json.loads(done.stdout.splitlines()[-1])
    print(f"{role}: {calls / seconds:,.0f} calls/s", file=sys.stderr)
    return seconds, held, most


def compare(latency: float, calls: int, in_flight: int, repeats: int) -> None:
    """Every client in turns; a Markdown table."""
    found: dict[str, list[float]] = {role: [] for role in CLIENTS}
    with serving(latency) as port:
        for _ in range(repeats):
            for role in CLIENTS:
                found[role].append(calls / measured(role, port, calls, in_flight)[0])
    load = os.getloadavg()[0]
    print(f"\n| latency {latency * 1000:.0f} ms, load {load:.1f} | calls/s | least to most | of bare | of raw |")
    print("|---|---:|---:|---:|---:|")
    for role, rates in found.items():
        middle = median(rates)
        ratios = [
            f"{median(one / other for one, other in zip(rates, found[peer], strict=True)):.2f}"
            for peer in ("bare", "raw")
        ]
        print(f"| {ABOUT[role]} | {middle:,.0f} | {min(rates):,.0f} to {max(rates):,.0f} | {' | '.join(ratios)} |")


def memory(numbers: list[int], in_flight: int) -> None:
    """What the asking adds to the process, by the number of calls."""
    print("\n| calls, with a price | MiB before | at most | added by asking |")
    print("|---:|---:|---:|---:|")
    with serving(0.0) as port:
        for calls in numbers:
            _, held, most = measured("priced", port, calls, in_flight)
            print(f"| {calls:,} | {held:.0f} | {most:.0f} | {most - held:.0f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency", type=float, nargs="*", default=[0.0, 0.05], help="seconds, one table each")
    parser.add_argument("--memory", type=int, nargs="*", default=[5_000, 20_000, 80_000], help="calls, a row each")
    parser.add_argument("--role", choices=["server", *CLIENTS], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role == "server":
        asyncio.run(serve(given.latency[0]))
    elif given.role:
        client(given.role, given.port, given.calls, given.in_flight)
    else:
        import httpx2
        import openai

        print(f"Python {platform.python_version()}, openai {openai.__version__}, httpx2 {httpx2.__version__}")
        print(
            f"{given.calls:,} calls, {given.in_flight} in flight, medians of {given.repeats} (of ratios within a turn)"
        )
        for latency in given.latency:
            compare(latency, given.calls, given.in_flight, given.repeats)
        if given.memory:
            memory(given.memory, given.in_flight)


if __name__ == "__main__":
    main()
