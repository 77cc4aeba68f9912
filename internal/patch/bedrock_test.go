package patch

import "testing"

// TestBedrockSynthetic checks the message for Bedrock's Converse API.
func TestBedrockSynthetic(t *testing.T) {
	got, err := Synthetic(Bedrock, Call{ID: "tooluse_1", Name: "f"}, "timed_out", "Tool call <f> timed out.")
	want := `{"role":"user","content":[{"toolResult":{"toolUseId":"tooluse_1","content":[{"text":"Tool call <f> timed out."}],"status":"error"}}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}
