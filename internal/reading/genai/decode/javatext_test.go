// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestMessagesThatJavaWroteAsText(t *testing.T) {
	const asks = `AiMessage { text = "so "quoted"", thinking = null, toolExecutionRequests = [ToolExecutionRequest { id = "c1", name = "f", arguments = "{"x": "y" }" }, ToolExecutionRequest { id = "c2", name = "g", arguments = "{}" }], attributes = {a={b=c}} }`
	const calls = `assistant: text(so "quoted") call(c1 f {"x":"y"}) call(c2 g {})`
	for text, want := range map[string]string{
		`[SystemMessage { text = "be kind" }, UserMessage { name = null, contents = [TextContent { text = "say " }" and
	go" }], attributes = {} }]`: "system: text(be kind)|user: text(say \" }\" and\n\tgo)",
		asks: calls,
		`[` + asks + `, ToolExecutionResultMessage { id = "c1" toolName = "f" text = "{"id": "v", "ok": [1]}" isError = false }]`:                                         calls + `|tool: result(c1 f "{\"id\": \"v\", \"ok\": [1]}")`,
		`UserMessage { name = null contents = [TextContent { text = "hi" }] }`:                                                                                            "user: text(hi)",
		"{\n\tagent_response=done:\n\n  so\n\tbe it\n\tmessages=[\n\tUserMessage { name = null, contents = [TextContent { text = \"a\n\tb\" }] }\n\t" + asks + "\n\t]\n}": "user: text(a\n\tb)|" + calls,
		"{\n\tmessages=AiMessage { text = null, thinking = null, toolExecutionRequests = [], attributes = {} }\n\tnext=stop\n}":                                           "",
	} {
		v, ok := decode.JavaMessages(text)
		if !ok {
			t.Errorf("not read: %s", text)
			continue
		}
		messages, _ := decode.Messages(v, tape.RoleUser)
		if diff := cmp.Diff(want, strings.Join(genaitest.Messages(messages), "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{
		`UserMessage { name = null, contents = [ImageContent { url = "u" }] }`, // content of another kind
		`UserMessage { text = "hi"`,        // cut
		`say UserMessage { text = "hi" }`,  // in words
		`[UserMessage { text = "hi" }, 7]`, // a list of something else
		"{\n\tfirst=UserMessage { text = \"a\" }\n\tlast=UserMessage { text = \"b\" }\n}",       // which is the conversation
		`[UserMessage { text = "` + strings.Repeat(`" }, UserMessage { text = "`, 4000) + `" }`, // cut, with any number of ways to read what is left: without a bound this would not end
		`[UserMessage { text = "` + strings.Repeat(`", name = "`, 4000) + `" }`,
		`{"role": "UserMessage"}`,
	} {
		if v, ok := decode.JavaMessages(text); ok {
			t.Errorf("%.80s became %s", text, v.JSON())
		}
	}
}

// Whatever is tried ends, and what is read is JSON.
func FuzzJavaMessages(f *testing.F) {
	f.Add(`UserMessage { name = null, contents = [TextContent { text = "hi" }], attributes = {} }`)
	f.Add(`[AiMessage { text = "a" }", thinking = null, toolExecutionRequests = [ToolExecutionRequest { id = "c1", name = "f", arguments = "{"x":1}" }], attributes = {} }, ToolExecutionResultMessage { id = "c1" toolName = "f" text = "v" isError = false }]`)
	f.Add("{\n\tmessages=[\n\tSystemMessage { text = \"s\" }\n\tUserMessage { contents = [] }\n\t]\n\tn=1\n}")
	f.Add(`UserMessage { a = [TextContent { text = "", b = [TextContent { text = "`)
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := decode.JavaMessages(text)
		if !ok {
			return
		}
		if _, err := exactjson.Parse(v.JSON()); err != nil {
			t.Errorf("%q became %s: %v", text, v.JSON(), err)
		}
	})
}
