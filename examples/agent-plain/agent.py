"""An agent that knows nothing of streamer. The tap shows its tool calls:

    streamer tap -- python3 agent.py QUESTION

OPENAI_BASE_URL is that of the API Chat Completions. It uses the standard library only.
"""

import json
import os
import sys
from urllib.request import Request, urlopen

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
WEATHER = {"Oslo": "6 °C, cloudy", "Tromsø": "4 °C, rain"}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Returns the weather of a city.", "parameters": PARAMETERS}}]


def main(question="What is the weather in Tromsø and in Atlantis?"):
    messages = [{"role": "user", "content": question}]
    while True:
        text, calls = ask(messages)
        if not calls:
            print(text)
            return
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        for call in calls:
            city = json.loads(call["function"]["arguments"])["city"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": WEATHER.get(city, f"no weather is known for {city}")})


def ask(messages):
    """Returns the text and the tool calls of the model's answer, which is streamed."""
    body = {"model": os.environ.get("MODEL", "gpt-5.4-mini"), "messages": messages, "tools": TOOLS, "stream": True}
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}", "Content-Type": "application/json"}
    text, calls = "", {}
    with urlopen(Request(f"{URL}/chat/completions", json.dumps(body).encode(), headers)) as lines:
        for line in lines:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                text += delta.get("content") or ""
                for part in delta.get("tool_calls") or []:
                    call = calls.setdefault(part["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                    call["id"] += part.get("id") or ""
                    for field in ("name", "arguments"):
                        call["function"][field] += part["function"].get(field) or ""
    return text, list(calls.values())


main(*sys.argv[1:])
