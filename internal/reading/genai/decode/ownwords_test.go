// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestMessagesInATeamsOwnWordsAreRead(t *testing.T) {
	list := `[{"speaker":"system","body":"be brief"},{"speaker":"human","body":"hi"},
		{"speaker":"bot","body":"one moment","actions":[{"ref":"c1","tool":"look","params":"{\"a\":1}"}]},{"speaker":"observation","tool":"look","ref":"c1","body":"rain"}]`
	messages, ok := decode.Messages(genaitest.Parse(t, list), tape.RoleUser)
	if !ok || !decode.IsMessageList(genaitest.Parse(t, list)) || len(messages) != 4 {
		t.Fatalf("read as %v", messages)
	}
	for i, want := range []tape.Role{tape.RoleSystem, tape.RoleUser, tape.RoleAssistant, tape.RoleTool} {
		if messages[i].Role != want {
			t.Errorf("message %d is of %s", i, messages[i].Role)
		}
	}
	call, result := messages[2].Parts[1], messages[3].Parts[0]
	if call.Name != "look" || call.ID != "c1" || call.Args.JSON() != `{"a":1}` || result.ID != "c1" || result.Result.Str() != "rain" {
		t.Errorf("call %v, result %v", call, result)
	}
	if said := decode.OutputMessages(genaitest.Parse(t, `{"from":"ai","value":"yes"}`), 0); len(said) != 1 || said[0].Parts[0].Text != "yes" {
		t.Errorf("answer %v", said)
	}
}

func TestWhatNamesNoRoleIsNoMessageInOwnWords(t *testing.T) {
	for _, list := range []string{`[{"from":"a@example.org","body":"hi"}]`, `[{"author":"Ada","text":"hi"}]`, `[{"speaker":"user"}]`, `[{"sender":"bot","size":3}]`} {
		if decode.IsMessageList(genaitest.Parse(t, list)) {
			t.Errorf("%s is taken for messages", list)
		}
	}
}

func TestATextOfLabelledTurnsIsAConversation(t *testing.T) {
	messages, ok := decode.LabelledTurns("System: be brief\n\nUser: what says\nUser: nobody?\n\nAssistant: yes")
	if !ok || len(messages) != 3 || messages[1].Parts[0].Text != "what says\nUser: nobody?" || messages[2].Role != tape.RoleAssistant {
		t.Errorf("read as %v", messages)
	}
	if told, _ := decode.LabelledTurns("User: what says\n\nAssistant: let me see\n\nTool: 12"); told[2].Parts[0].Type != tape.PartToolResult || told[2].Parts[0].Result.Str() != "12" {
		t.Errorf("what a tool answered is read as %v", told[2])
	}
	for _, text := range []string{"system: You crawl pages.\nuser: Crawl.\nassistant:\ntool: 1", "system: pages\n\nuser: Crawl."} {
		if messages, ok := decode.LabelledTurns(text); !ok || messages[0].Role != tape.RoleSystem || messages[1].Parts[0].Text != "Crawl." {
			t.Errorf("%q is read as %v", text, messages)
		}
	}
	for _, text := range []string{"User: hi", "Tool: x\n\nUser: y", "I say\nUser: hi\nAssistant: yes", "User: a\n\nUser: b", "system: linux\nuser: ada", "user: ada\nsystem: Runs on Linux."} {
		if _, ok := decode.LabelledTurns(text); ok {
			t.Errorf("%q is taken for a conversation", text)
		}
	}
}

// A message may have an id of its own beside that of the call which it answers.
func TestResultInOwnWordsIsOfTheCallThatItNames(t *testing.T) {
	for text, want := range map[string]string{
		`[{"role":"tool","id":"m1","tool_call_id":"c1","tool_name":"f","content":"r"}]`: "c1",
		`[{"role":"tool","id":"c1","tool_name":"f","content":"r"}]`:                     "c1",
	} {
		messages, _ := decode.Messages(genaitest.Parse(t, text), tape.RoleUser)
		if len(messages) != 1 || len(messages[0].Parts) != 1 || messages[0].Parts[0].ID != want || messages[0].Parts[0].Name != "f" {
			t.Errorf("%s: %+v", text, messages)
		}
	}
}
