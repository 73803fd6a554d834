// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestCallsThatWereMadeOneAreTakenApart(t *testing.T) {
	tools := []tape.Tool{{Name: "get_job"}, {Name: "get_weather"}, {Name: "get"}}
	for _, c := range []struct{ id, name, args, want string }{
		{"call_ABcall_CD", "get_jobget_job", `{"job":"5"}{"job":"6"}`, `call_AB get_job {"job":"5"} | call_CD get_job {"job":"6"}`},
		{"call_ABcall_CD", "get_jobget_weather", `{"id":9007199254740993} {"city":"}{"}`, `call_AB get_job {"id":9007199254740993} | call_CD get_weather {"city":"}{"}`},
		{"a1b2", "aa", `{}{}`, ` a {} |  a {}`},
		{"call_A", "get_job", `{"job":"}{"}`, ""},
		{"call_ABcall_CD", "get_jobother", `{"job":"5"}{"job":"6"}`, ""},
		{"call_ABcall_CD", "get_jobget_job", `{"job":"5"}{"job":`, ""},
		{"call_ABcall_CD", "get_jobget_job", `{"job":"5"}[1]`, ""},
	} {
		before := []Message{{Role: tape.RoleAssistant, Parts: []Part{TextPart("both"), CallPart(c.id, c.name, exactjson.StringValue(c.args))}}}
		after := Unglue(before, nil, tools)
		if len(before[0].Parts) != 2 {
			t.Fatal("what was given has changed")
		}
		var got []string
		for _, p := range after[0].Parts[1:] {
			got = append(got, p.ID+" "+p.Name+" "+p.Args.JSON())
		}
		if c.want == "" && len(got) != 1 || c.want != "" && strings.Join(got, " | ") != c.want {
			t.Errorf("%s %s: %q", c.name, c.args, got)
		}
	}
}

// An accumulator may keep the first id alone. A request that was recorded after the answer to it, with the same calls under that id, tells the others.
func TestIDsOfCallsThatWereMadeOneStandInARequestRecordedLater(t *testing.T) {
	tools := []tape.Tool{{Name: "get_job"}, {Name: "get_weather"}}
	glued := []Message{{Role: tape.RoleAssistant, Parts: []Part{CallPart("call_AB", "get_jobget_weather", exactjson.StringValue(`{"job":"5"}{"city":"Bonn"}`))}}}
	asked := func(first, job, second, city string) []Message {
		return []Message{{Role: tape.RoleUser, Parts: []Part{TextPart("both")}}, {Role: tape.RoleAssistant, Parts: []Part{TextPart("one moment"),
			CallPart(first, "get_job", exactjson.StringValue(`{"job": "`+job+`"}`)), CallPart(second, "get_weather", exactjson.ObjectValue(exactjson.Member{Name: "city", Value: exactjson.StringValue(city)}))}}}
	}
	for want, request := range map[string][]Message{
		"call_AB call_CD": asked("call_AB", "5", "call_CD", "Bonn"),
		" ":               asked("call_AB", "6", "call_CD", "Bonn"), // other calls
		"  ":              asked("call_EF", "5", "call_GH", "Bonn"), // the same once more, under other ids
		"   ":             nil,
	} {
		parts := Unglue(glued, request, tools)[0].Parts
		if len(parts) != 2 || strings.TrimSpace(parts[0].ID+" "+parts[1].ID) != strings.TrimSpace(want) {
			t.Errorf("want %q: %+v", want, parts)
		}
	}
}

func TestModelsOfOllamaAreFoundInItsResponses(t *testing.T) {
	v, _ := ParseStructure(`{"messages":[{"kwargs":{"response_metadata":{"model":"llama3.2","done_reason":"stop","total_duration":9}}},{"model":"gpt","other":1}]}`)
	names := map[string]bool{}
	if OllamaModels(v, names); len(names) != 1 || !names["llama3.2"] {
		t.Errorf("got %v", names)
	}
}
