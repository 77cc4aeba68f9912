// Package chunks says what a model says, free of providers, and puts the
// pieces of tool calls together again.
//
// A decoder turns provider bytes into Chunks. A Message takes the fragments of
// one message in order and assembles its calls. A Scanner follows JSON text as
// it grows. All three are deterministic, linear in their input, and values
// that can be copied, saved and resumed at any byte.
package chunks

// Kind says what a Chunk tells.
type Kind uint8

// The kinds. Which fields of a Chunk each one uses stands behind it; Namespace,
// Message and Choice say whose it is in all of them, where that is known.
const (
	// Start: a message begins here for certain (Anthropic message_start, AG-UI
	// TEXT_MESSAGE_START…). Role. Where the message is known and open already
	// it says nothing, unless Fresh is set: then the wire says that a new
	// message begins although its id may be the same, or absent.
	Start Kind = iota
	// Fragment: a piece of a tool call. Index, ID, Name, Args, CallKind,
	// Provider, ParentCall, Final, Opens, Whole, Object.
	Fragment
	// Seal: the provider says that a call's args are complete. Index or ID. A
	// Seal that names no call of the message is nothing (a text block ended).
	Seal
	// Next: the format's blocks are sequential and another one began, so the
	// calls before it have all their args, save a bare {}. Index (of the new
	// block; that call is not sealed).
	Next
	// Text and Reasoning: content of the message. Text, Part.
	Text
	Reasoning
	// PartEnd: a content part is over. Part.
	PartEnd
	// Finish: the message (its Choice) has its finish reason; usage may still
	// follow. Reason in the provider's word; Truncated where the provider says
	// that the model was cut off (length, max_tokens, content filter).
	Finish
	// Usage: the token counts, as raw JSON. Usage.
	Usage
	// Ended: nothing more comes for the message ([DONE], message_stop). Without
	// Message it means every message of the Namespace that has its Finish.
	Ended
	// Result: a tool result. ID, Call, Text or Content, Status, Name. Without
	// ID and Call it means the oldest open call of that Name.
	Result
	// Human: a human message, which interrupts the calls before it. ID is the
	// message's; a human message whose ID was seen before is history.
	// Repeated is set where the wire repeats the whole history (LangGraph
	// values and updates): then it counts only where it stands after the open
	// calls' message.
	Human
	// Await: a call waits for a person. ID where the wire names the call, else
	// all open calls whose args are complete (of Namespace, where given);
	// Why, InterruptID.
	Await
	// Progress: the tool is alive. ID, Call, Text, Percent.
	Progress
	// RunStart and RunEnd: the wire says so. Run; RunEnd has Status ("completed",
	// "error", "cancelled", "interrupted") and Text, the error in words.
	RunStart
	RunEnd
	// Attempt: what is open was abandoned and is tried again (LangGraph
	// metadata with a higher attempt).
	Attempt
	// Failure: the provider broke off the message in the middle (an error
	// event). Text. Without Message it means every open message of the
	// Namespace. Where the wire says that the run is over, use RunEnd.
	Failure
	// Rename: the message ID is called Message from here on (a framework gave
	// it an id of its own before the provider's had come).
	Rename
)

// Chunk is one thing a stream event says. A decoder gives them in wire order.
//
// Strings may share memory with the input and with the decoder's scratch
// space; they hold until the next event is decoded, and whoever keeps one
// clones it. Text and Args may begin or end with half of a surrogate pair in
// WTF-8 (three bytes ED A0..BF xx): Message and Joiner join the halves.
type Chunk struct {
	Kind      Kind
	Namespace string // LangGraph checkpoint namespace "a:1|b:2"; "" at the root
	Message   string // the provider's message id, "" where the wire has none
	Choice    int
	Role      string
	Fresh     bool

	Index      string // raw JSON token of the call's (or block's) index: `0`, `"lc_1"`; "" where absent or null
	ID         string // of the call
	Call       string // our own name of the call, where a client uses it
	Name       string
	Args       string // fragment of the raw args text
	CallKind   string // function (also ""), custom, mcp, mcp_approval_request, server
	Provider   bool   // executed by the provider
	ParentCall string
	// Final: the name is whole, and the id, if the wire has one, is here too
	// (Anthropic, Gemini; not OpenAI, where both may come in pieces or late).
	Final bool
	// Opens: the fragment begins a call for certain, even one of the same name
	// without an index or an id (Gemini). An id of the message still means the
	// call that has it.
	Opens bool
	// Object: Args is a whole JSON object which replaces what there was
	// (rule R10); with Weak set only if no text fragment comes (Anthropic's
	// input in content_block_start).
	Object, Weak bool
	// Hold: the text is not to be told as it grows, since an object will stand
	// for it in the end; it counts where that object never comes.
	Hold bool
	// Whole: the fragment is a whole call out of a full message that may
	// repeat one already streamed. It is matched by its id (in the message,
	// then in the namespace) and confirms it; only an unseen one opens a call.
	Whole bool

	Part        int
	Text        string
	Content     string // of a Result whose content is not a string: raw JSON
	Status      string // of a Result: success (also ""), error, denied; of a RunEnd
	Truncated   bool
	Reason      string
	Usage       string // raw JSON
	Why         string // of an Await: approval, interrupt, input…
	InterruptID string
	Percent     float64
	HasPercent  bool
	Run         string
	Repeated    bool // the wire repeats the whole history (LangGraph values, updates)
}
