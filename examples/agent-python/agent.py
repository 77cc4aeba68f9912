"""An agent that passes the stream of its model on to streamer, and runs the tool calls that streamer assembles.

    OPENAI_API_KEY=… python3 agent.py SESSION QUESTION

OPENAI_BASE_URL can be any server with the API Chat Completions. STREAMER_URL is http://127.0.0.1:8080 by default;
STREAMER_TOKEN is its token, if it has one.
"""

import json
import os
import sys
from urllib.request import Request, urlopen

from streamer_client import streamer

OPENAI = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
SERVER = streamer(os.environ.get("STREAMER_URL", "http://127.0.0.1:8080"), token=os.environ.get("STREAMER_TOKEN"))

WEATHER = {"Oslo": "6 °C, cloudy", "Tromsø": "4 °C, rain"}
TOOLS = {"get_weather": lambda args: WEATHER[args["city"]]}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DESCRIBED = [{"type": "function", "function": {"name": "get_weather", "description": "Returns the weather of a city.", "parameters": PARAMETERS}}]


def main(name="demo", question="What is the weather in Tromsø and in Atlantis?"):
    session = SERVER.session(name)
    messages = [{"role": "user", "content": question}]
    stream = session.events().read()
    next(event for event in stream if event.type == "stream.live")  # after the history of the session
    while True:
        with ask(messages) as response:
            session.follow(response, format="openai-chat")
        text, calls = message_of(stream)
        if not calls:
            print(text)
            return
        asked = [{"id": c["id"], "type": "function", "function": {"name": c["tool_name"], "arguments": c.get("args_text", "")}} for c in calls]
        messages += [{"role": "assistant", "content": text or None, "tool_calls": asked}, *(result_of(session, c) for c in calls)]


def ask(messages):
    """Sends the messages to the model, and returns its answer, which is a stream."""
    body = {"model": os.environ.get("MODEL", "gpt-5.4-mini"), "messages": messages, "tools": DESCRIBED, "stream": True}
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}", "Content-Type": "application/json"}
    return urlopen(Request(f"{OPENAI}/chat/completions", json.dumps(body).encode(), headers))


def message_of(stream):
    """Returns the text and the calls of the next message."""
    text, calls = "", []
    for event in stream:
        if event.type == "agent_response_chunk" and event["kind"] == "text":
            text += event["content"]
        elif event.type == "tool_call_args_complete":
            calls.append(event)
        elif event.type == "run_finished" and event["status"] != "completed":
            sys.exit(f"the run ended: {event.get('reason', {}).get('text', event['status'])}")
        elif event.type == "message_finished":
            return text, calls


def result_of(session, call):
    """Runs a call, which stores its result, and returns the message for the model."""
    try:
        content = session.run(call, lambda args: TOOLS[call["tool_name"]](args))
    except Exception as error:  # the tool failed, or its call was closed
        content = str(error)
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


if __name__ == "__main__":
    main(*sys.argv[1:])
