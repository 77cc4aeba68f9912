// The page: a chat, its tool calls as cards, and the waterfall of its session.

import "./page.css";

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, getToolName, isToolUIPart } from "ai";
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { streamer } from "streamer-client";
import { CallCard, Waterfall, useCall, useFollow, useSession } from "streamer-client/react";

const query = new URLSearchParams(location.search);
if (!query.has("chat")) {
  query.set("chat", crypto.randomUUID().slice(0, 8));
  history.replaceState(null, "", `?${query}`);
}
const id = query.get("chat");
const session = streamer(location.origin).session(id); // the server passes its requests on
const transport = new DefaultChatTransport({
  api: "/api/chat",
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `/v1/ai-sdk/${encodeURIComponent(id)}/stream` }),
});
const load = async () => (await fetch(`/api/chat/${encodeURIComponent(id)}`)).json();

function Page() {
  const chat = useChat({ id, transport });
  const { messages, status, error, sendMessage, addToolApprovalResponse } = chat;
  useFollow(session, chat, load);
  const { state, connection } = useSession(session);
  const busy = status === "submitted" || status === "streaming";
  const end = useRef(null);
  useEffect(() => void end.current.scrollIntoView({ block: "end" }), [messages.length]);

  async function decide(approval, approved) {
    const waiting = messages.flatMap(({ parts }) => parts).filter(({ state }) => state === "approval-requested");
    await chat.stop(); // reading: the request has a stream of its own
    await addToolApprovalResponse({ id: approval.id, approved });
    if (waiting.length === 1) await sendMessage(); // with all answers, the agent goes on
  }

  return (
    <main data-status={status} data-connection={connection}>
      <h1>Chat <small>{id}</small></h1>
      <ol className="messages">
        {messages.map(({ id, role, parts }) => (
          <li key={id} data-role={role}>
            {parts.map((part, i) =>
              part.type === "text" ? <p key={i}>{part.text}</p>
              : isToolUIPart(part) ? <Tool key={part.toolCallId} part={part} decide={decide} />
              : null)}
          </li>
        ))}
      </ol>
      <div ref={end} />
      {error && <p role="alert">{error.message}</p>}
      {state.calls.size > 0 && <details><summary>Waterfall</summary><Waterfall state={state} /></details>}
      <Question busy={busy} send={(text) => sendMessage({ text })} stop={() => session.interrupt(status === "submitted" ? { run: "next" } : {})} />
    </main>
  );
}

/** A tool call, from the log of the session. Without events of it, as the chat stored it. */
function Tool({ part, decide }) {
  const { call, stop } = useCall(session, part.toolCallId);
  const tool = getToolName(part);
  const actions = {
    stop, session: id,
    edits: false, // which the AI SDK does not know
    answer: (_, { decision }) => decide(part.approval, decision === "approve"),
    value: (seq, what) => session.value(seq, what),
  };
  return <div className="tool" data-tool={tool}>{call ? <CallCard call={call} actions={actions} /> : <p>{tool}: {part.errorText ?? JSON.stringify(part.output) ?? part.state}</p>}</div>;
}

function Question({ busy, send, stop }) {
  const [text, setText] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (!text.trim() || busy) return;
    send(text);
    setText("");
  };
  return (
    <form onSubmit={submit}>
      <input value={text} onChange={(event) => setText(event.target.value)} placeholder="weather, mail or report" aria-label="Message" autoFocus />
      {busy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
    </form>
  );
}

createRoot(document.getElementById("root")).render(<Page />);
