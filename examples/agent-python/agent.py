"""An agent that passes the stream of its model on to streamer, and runs the tool calls
that streamer assembles. It uses HTTP and the standard library only.

    OPENAI_API_KEY=… python3 agent.py SESSION QUESTION

OPENAI_BASE_URL can be any server with the API Chat Completions. STREAMER_URL is
http://127.0.0.1:8080 by default; STREAMER_TOKEN is its token, if it has one.
"""

import http.client
import json
import os
import sys
import time
import uuid
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

OPENAI = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
STREAMER = os.environ.get("STREAMER_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("STREAMER_TOKEN", "")

WEATHER = {"Oslo": "6 °C, cloudy", "Tromsø": "4 °C, rain"}
TOOLS = {"get_weather": lambda args: WEATHER[args["city"]]}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DESCRIBED = [{"type": "function", "function": {"name": "get_weather", "description": "Returns the weather of a city.", "parameters": PARAMETERS}}]


def main(session="demo", question="What is the weather in Tromsø and in Atlantis?"):
    base = f"{STREAMER}/v1/sessions/{quote(session, safe='')}"
    messages = [{"role": "user", "content": question}]
    stream = events(base)
    for kind, _ in stream:  # the history of the session
        if kind == "stream.live":
            break
    ask(base, messages)
    text, calls, results = "", [], []  # of the message that the model writes
    for kind, event in stream:
        if kind == "agent_response_chunk" and event["kind"] == "text":
            text += event["content"]
        elif kind == "tool_call_args_complete":
            calls.append({"id": event["id"], "type": "function", "function": {"name": event["tool_name"], "arguments": event.get("args_text", "")}})
            results.append(answer(base, event))
        elif kind == "run_finished" and event["status"] != "completed":
            sys.exit(f"the run ended: {event.get('reason', {}).get('text', event['status'])}")
        elif kind == "message_finished" and not calls:
            print(text)
            return
        elif kind == "message_finished":
            messages += [{"role": "assistant", "content": text or None, "tool_calls": calls}, *results]
            text, calls, results = "", [], []
            ask(base, messages)


def ask(base, messages):
    """Sends the messages to the model, and passes its answer on, line by line as it comes."""
    body = {"model": os.environ.get("MODEL", "gpt-5.4-mini"), "messages": messages, "tools": DESCRIBED, "stream": True}
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}", "Content-Type": "application/json"}
    with urlopen(Request(f"{OPENAI}/chat/completions", json.dumps(body).encode(), headers)) as lines:
        stored = post(f"{base}/deltas", iter(lines), {"Streamer-Format": "openai-chat"})
    if stored["rejected"]:
        print(f"streamer rejected {stored['rejections']}", file=sys.stderr)


def answer(base, event):
    """Runs a call, stores its result, and returns the message for the model."""
    try:
        content, status = TOOLS[event["tool_name"]](event["tool_args"]), "success"
    except Exception as error:  # a tool that fails is a result too
        content, status = repr(error), "error"
    body = {"call": event["call"], "content": content, "status": status}
    post(f"{base}/results", json.dumps(body).encode(), {"Idempotency-Key": event["call"]})
    return {"role": "tool", "tool_call_id": event["id"], "content": content}


def post(url, body, headers):
    """Stores inputs. A body that is an iterator is sent as it comes."""
    headers = {"Content-Type": "application/octet-stream", "Idempotency-Key": str(uuid.uuid4()), **authorization(), **headers}
    with urlopen(Request(url, body, headers)) as response:
        return json.load(response)


def events(base):
    """Yields the type and the data of each event. It connects again, after the last event that it had."""
    last = None
    while True:
        headers = {**authorization(), **({"Last-Event-ID": last} if last else {})}
        frame = {}
        try:
            # The server sends a heartbeat every 15 s.
            with urlopen(Request(f"{base}/events", headers=headers), timeout=45) as lines:
                for line in lines:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    frame[field] = value
                    if line == b"\n" and "data" in frame:
                        yield frame["event"], json.loads(frame["data"])
                        last = frame.get("id", last)
                    if line == b"\n":
                        frame = {}
        except HTTPError as error:
            if error.code < 500:
                raise
        except (OSError, http.client.HTTPException):
            pass  # the connection is lost
        time.sleep(2)


def authorization():
    return {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}


if __name__ == "__main__":
    main(*sys.argv[1:])
