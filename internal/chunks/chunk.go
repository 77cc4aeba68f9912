// Package chunks has the provider-neutral form of a model's stream, and
// assembles the fragments of tool calls.
//
// A decoder turns provider bytes into Chunks. An Assembler takes the fragments of
// one message in order and assembles its calls. A Joiner makes valid UTF-8 of
// text that comes in pieces.
//
// All of them are deterministic, and their work is linear in their input. They
// are values: a copy, or one that was stored as JSON and loaded, continues in the
// same way at any fragment. An error leaves the call as it was, except that a
// call that exceeds its limit is marked as cut.
package chunks

// Kind is the kind of a Chunk.
type Kind uint8

// The kinds. The comment of each names the fields of a Chunk that it uses. All
// kinds use Namespace, Message and Choice where the wire has them.
const (
	// Start: a message certainly begins (Anthropic message_start, AG-UI
	// TEXT_MESSAGE_START…). Role. Where the message is open already, Start has no
	// effect unless Fresh is set: then a new message begins although its id is
	// the same, or absent.
	Start Kind = iota
	// Fragment: a piece of a tool call. Index, ID, Name, Args, CallKind,
	// Provider, ParentCall, Final, Opens, Whole, Object.
	Fragment
	// Seal: the provider marks a call's args as complete. Index or ID, Restated. A
	// Seal that names no call of the message has no effect (a text block ended).
	Seal
	// Next: another block began in a format whose blocks are sequential, so the
	// calls before it have all their args, except a bare {}. Index (of the new
	// block; that call is not sealed).
	Next
	// Text and Reasoning: content of the message. Text, Part.
	Text
	Reasoning
	// PartEnd: a content part ended. Part.
	PartEnd
	// Finish: the message (its Choice) has its finish reason; usage may still
	// follow. Reason in the provider's word; Truncated where the model was cut
	// off (length, max_tokens, content filter); Wait where content may follow too;
	// Abandons, Restated.
	Finish
	// Usage: the token counts, as raw JSON. Usage.
	Usage
	// Ended: nothing more comes for the message (message_stop). Without Message it
	// means every message of the Namespace that has its Finish.
	Ended
	// Result: a tool result. ID, Call, Text or Content, Status, Name, Index. Why states
	// whether the tool of a closed call stopped: stopped or unknown (there is no result),
	// or finished_anyway.
	// Without ID and Call it means the oldest open call of that Name and, where
	// given, that Index.
	Result
	// Human: a human message, which interrupts the calls before it unless Aside is
	// set. ID is the message's, and Text its text; a human message whose ID was seen
	// before is history.
	// Repeated is set where the wire repeats the whole history (LangGraph
	// values and updates): then it counts only where it comes after the open
	// calls' message.
	Human
	// HumanText: more text of a human message. ID, Text. It belongs to the last Human
	// if the ID is the same.
	HumanText
	// Await: a call waits for a person. ID where the wire names the call, else
	// all open calls whose args are complete (of Namespace, where given);
	// Why, InterruptID, Content.
	Await
	// Resume: the wait of a call ended, and its tool may run. InterruptID of the
	// Await; Text, the answer.
	Resume
	// Progress: the tool is alive. ID, Call, Text, Percent. With InterruptID it is about an
	// approval for which no person is asked: its request if it has Content, or that it was given.
	Progress
	// RunStart and RunEnd: the wire states that a run begins or ends. Run; RunStart
	// has Explicit; RunEnd has Status ("completed", "error", "cancelled",
	// "interrupted"), Text, the text of the error, and Abandons.
	RunStart
	RunEnd
	// Attempt: what is open was abandoned and is tried again (LangGraph
	// metadata with a higher attempt).
	Attempt
	// Failure: the provider ended the message with an error before it was
	// complete. Text. Without Message it means every open message of the
	// Namespace. Where the error ends the run, RunEnd is used instead. Status is
	// cancelled where it was stopped without an error; Spares.
	Failure
	// Rename: the message ID is named Message from now on (a framework used an
	// id of its own before it knew the provider's).
	Rename
	// Listed: a repeated history has the message, of which there is nothing else to
	// emit. It changes no open message.
	Listed
	// Answer: the root graph has the message as its last one, which made no call. The
	// run may end with it, even if it is the message of a subgraph.
	Answer
	// Done: the stream ended ([DONE]), and with it every open message.
	Done
)

// Chunk is one statement of a stream event. A decoder returns them in wire
// order.
//
// Strings may share memory with the input and with the decoder's scratch
// space. They are valid until the next event is decoded, so a caller that keeps
// one clones it. Text and Args may begin or end with half of a surrogate pair in
// WTF-8 (three bytes ED A0..BF xx): Assembler and Joiner join the halves.
type Chunk struct {
	Kind      Kind
	Namespace string // LangGraph checkpoint namespace "a:1|b:2"; "" at the root
	Message   string // the provider's message id, "" where the wire has none
	Choice    int
	Role      string
	Fresh     bool
	// IDVaries: the message id may change within one message, and the Role may come
	// again (Chat Completions). A chunk under an unknown id continues the open
	// message of its Choice, unless it begins the next one.
	IDVaries bool

	Index      string // raw JSON token of the call's (or block's) index: `0`, `"lc_1"`; "" where absent or null; see Place
	ID         string // the provider's id of the call
	Call       string // the call's name in events, where a client uses it
	Name       string
	Args       string // fragment of the raw args text
	CallKind   string // function (also ""), custom, mcp, mcp_approval_request, server
	Provider   bool   // executed by the provider
	ParentCall string
	// Final: the name is whole, and the id, if the wire has one, is present too
	// (Anthropic, Gemini; not OpenAI, where both may come in pieces or late).
	Final bool
	// Opens: the fragment certainly begins a call, even one of the same name
	// without an index or an id (Gemini). An id of the message still means the
	// call that has it while that call's args are incomplete.
	Opens bool
	// Exact: without an id and a name, the fragment belongs to the call on its
	// Index or to none (formats whose blocks have a beginning). With them, it names
	// the call on its Index that has neither.
	Exact bool
	// Object: Args is a whole JSON object which replaces the former args
	// (rule R10); with Weak set only if no text fragment comes (Anthropic's
	// input in content_block_start).
	Object, Weak bool
	// Hold: the text is not to be emitted as it grows, since an object will
	// replace it in the end. The text counts where that object never comes.
	Hold bool
	// Whole: the fragment is a whole call of a full message that may repeat a
	// streamed one. It is matched by its id (in the message, then in the
	// namespace) and confirms that call; it opens one only where the id is new.
	// Of several calls with its id it is the one on its Index, or else the one
	// whose number among them is its own number in the stream event.
	Whole bool

	Part      int
	Text      string
	Content   string // raw JSON: of a Result whose content is not a string; of a question, an object with what else the wire states
	Status    string // of a Result: success (also ""), error, denied, cancelled; of a RunEnd
	Truncated bool
	// Wait is the silence that ends the message of a Finish after which content
	// may follow, in multiples of the silence that flushes held text. If 0, no
	// content follows.
	Wait        uint8
	Reason      string
	Usage       string // raw JSON
	Why         string // of an Await: approval, interrupt, input…
	InterruptID string
	Percent     float64
	HasPercent  bool
	Run         string
	Repeated    bool // the wire repeats the whole history (LangGraph values, updates)
	// Snapshot: the event has the whole history, and not only what is new (LangGraph
	// values, AG-UI MESSAGES_SNAPSHOT). Repeated is set too.
	Snapshot bool
	// Explicit: the run does not end with a finished message, because the wire states
	// its end.
	Explicit bool
	// Restated: the wire may state the calls that end here as a whole, too. Until then,
	// those without args and those whose args are no JSON are not complete.
	Restated Restating
	// Abandons: the calls of the run that are open get no result, even if the run is
	// completed. Of a Finish: the agent does not run the calls of the message whose args
	// are not complete.
	Abandons bool
	// Spares: the calls of the message whose args are complete stay open.
	Spares bool
	// Aside: the human message interrupts nothing.
	Aside bool
}

// Restating states until when a whole call may follow the end of its args.
type Restating uint8

// The values of Restating.
const (
	NotRestated          Restating = iota
	RestatedSoon                   // until a silence, its result, or the end of the run
	RestatedBeforeResult           // until its result, or the end of the run
	RestatedInRun                  // until the end of the run
)

// Stray reports whether a fragment without a known place belongs to no call.
func (c *Chunk) Stray() bool { return c.Exact && c.ID == "" && c.Name == "" }
