// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestModelThatAnsweredTellsWhichOneWasAskedFor(t *testing.T) {
	for _, f := range []struct{ outer, inner, answered, want string }{
		{"gpt-3.5-turbo", "gpt-4o-mini", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"},
		{"gpt-3.5-turbo", "gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-3.5-turbo"}, // neither
		{"openai/gpt-4o", "gpt-4o", "gpt-4o-2024-08-06", "openai/gpt-4o"},
		{"gpt-4o", "my-deployment", "gpt-4o-2024-08-06", "gpt-4o"},
		{"alias", "gpt-4o", "", "alias"},
	} {
		outer := dialect.NewReport(dialect.Model, func(o *dialect.Draft) { o.Model = f.outer })
		inner := dialect.NewReport(dialect.Model, func(o *dialect.Draft) { o.Model, o.ResponseModel = f.inner, f.answered })
		if got := MergeModel(outer, inner).Model; got != f.want {
			t.Errorf("%+v: got %s", f, got)
		}
	}
}

func TestReportThatNamesTheCallsOfResultsIsTheRequest(t *testing.T) {
	shown := func(call, id string) []decode.Message {
		out := []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart("q")}}, {Role: tape.RoleAssistant}}
		if call != "" {
			out[1].Parts = []decode.Part{decode.CallPart(call, "f", exactjson.Value{})}
		}
		return append(out, decode.Message{Role: tape.RoleTool, Parts: []decode.Part{decode.ResultPart(id, "", exactjson.StringValue("r"), false)}})
	}
	bare := shown("", "")
	for name, f := range map[string]struct {
		inner, outer []decode.Message
		want         bool
	}{
		"named":                   {shown("c1", "c1"), bare, true},
		"of another call":         {shown("c1", "c2"), bare, false},
		"without an id":           {shown("c1", ""), bare, false},
		"the outer names it, too": {shown("c1", "c1"), shown("", "c1"), false},
		"the outer has calls":     {shown("c1", "c1"), shown("c1", "c1"), false},
		"more results":            {append(shown("c1", "c1"), shown("c1", "c1")...), bare, false},
	} {
		if got := NamesCalls(f.inner, f.outer); got != f.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestStatusThatIsAnErrorAsAnObjectSaysWhatItsDataSays(t *testing.T) {
	for status, want := range map[string]string{
		`{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'f', 'error': 'no such order'}}`: "no such order",
		`{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'f'}}`:                           `{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'f'}}`,
		`{'data': {'error': 'x'}}`: `{'data': {'error': 'x'}}`,
		"no such order":            "no such order",
	} {
		if got := said(status); got != want {
			t.Errorf("%s: got %s", status, got)
		}
	}
}

// TestAWholeReportTakesNothingOfAPartOne: a whole request takes no answer that it goes on after, and an
// answer whose calls were left out is taken from a report that has them.
func TestAWholeReportTakesNothingOfAPartOne(t *testing.T) {
	message := func(parts ...decode.Part) []decode.Message {
		return []decode.Message{{Role: tape.RoleAssistant, Parts: parts}}
	}
	said, call := decode.TextPart("I look."), decode.CallPart("c1", "f", exactjson.Value{})
	span := func(request ...decode.Message) *dialect.Report {
		return dialect.NewReport(dialect.Model, func(o *dialect.Draft) {
			o.Request, o.Response, o.ResponseLabel = request, message(said), tape.Lossy
		})
	}
	record := func(text string) *dialect.Report {
		return dialect.NewReport(dialect.Model, func(o *dialect.Draft) {
			o.Quirks, o.Request, o.PreviousID, o.Response = dialect.OmitsFirst, message(said), "r0", message(decode.TextPart(text), call)
		})
	}
	whole := Merge(span(decode.Message{Role: tape.RoleUser}), record("I look."))
	if whole.Quirks != 0 || whole.PreviousID != "" || whole.Request[0].Role != tape.RoleUser {
		t.Errorf("a whole request took %v after %q", whole.Quirks, whole.PreviousID)
	}
	if len(whole.Response[0].Parts) != 2 || whole.ResponseLabel != "" {
		t.Errorf("the answer is %v, %s", whole.Response, whole.ResponseLabel)
	}
	if part := Merge(span(), record("another answer")); part.PreviousID != "r0" || !part.Quirks.Has(dialect.OmitsFirst) || len(part.Response[0].Parts) != 1 {
		t.Errorf("after %q, answer %v", part.PreviousID, part.Response)
	}
}
