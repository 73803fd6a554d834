// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestBlocksThatWereWrittenAsTheTextOfAPartAreOpened(t *testing.T) {
	for text, want := range map[string]string{
		`[{"type":"text","text":"Be brief."}]`: "Be brief.",
		`[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}, {"type":"text","text":"Be kind."}]`: "Be brief.|Be kind.",
		`[{"text":"Be brief."}]`:                              "", // what a user may well write
		`[{"type":"invoice","text":"Be brief."}]`:             "",
		`[{"type":"text","text":"Be brief."}] and be kind`:    "",
		`[{"type":"text","text":"Be brief."}, "and be kind"]`: "",
		`[]`: "",
	} {
		part := exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("text")}, exactjson.Member{Name: "content", Value: exactjson.StringValue(text)})
		got := ""
		for i, p := range decode.Parts(exactjson.ArrayValue(part)) {
			if i > 0 {
				got += "|"
			}
			got += p.Text
		}
		if want == "" {
			want = text
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
