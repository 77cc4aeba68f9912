package chunks_test

import (
	"fmt"

	"streamer/internal/chunks"
)

// A decoder turns the events of a stream into chunks. The assembler joins the
// fragments of two calls that the provider sends at the same time.
func ExampleAssembler() {
	var message chunks.Assembler[struct{}]
	limits := chunks.Limits{Calls: 100, ArgsBytes: 1 << 20, NameBytes: 256}
	for _, f := range []chunks.Chunk{
		{Kind: chunks.Fragment, Index: "0", ID: "call_a", Name: "search", Args: `{"q":`},
		{Kind: chunks.Fragment, Index: "1", ID: "call_b", Name: "weather"},
		{Kind: chunks.Fragment, Index: "0", Args: `"go"}`},
		{Kind: chunks.Fragment, Index: "1", Args: `{"city":"Os`},
	} {
		if _, _, err := message.Add(&f, limits); err != nil {
			fmt.Println(err)
		}
	}
	for i := range message.Calls {
		call := &message.Calls[i]
		args := call.Args()
		fmt.Printf("%s %s %s valid=%t\n", call.ID, call.Name, call.Text, args.Valid)
	}
	// Output:
	// call_a search {"q":"go"} valid=true
	// call_b weather {"city":"Os valid=false
}

// The provider cut an emoji in the middle and wrote each half as an escape.
func ExampleJoiner() {
	var j chunks.Joiner
	fmt.Printf("%q ", j.Join("hi \xED\xA0\xBD"))
	fmt.Printf("%q ", j.Join("\xED\xB8\x80!"))
	fmt.Printf("%q\n", j.End())
	// Output: "hi " "😀!" ""
}
