// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// holds tells whether an event has a word, in lower case, in its name or content. Of the messages of its
// request, the fresh ones count.
func holds(t *tape.Tape, e *tape.Event, fresh []int, word string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), word) }
	text := func(v exactjson.Value) bool {
		if v.Kind() == exactjson.String {
			return has(v.Str())
		}
		return !v.IsAbsent() && has(v.JSON())
	}
	message := func(id string) bool {
		parts := t.Messages[id].Parts
		for i := range parts {
			if p := &parts[i]; has(p.Text) || has(p.Name) || has(p.ArgsText) || has(p.URI) || text(p.Args) || text(p.Result) || text(p.Value) {
				return true
			}
		}
		return false
	}
	if has(timeline.Name(e)) || has(e.Model) || e.Error != nil && has(errorText(e.Error)) {
		return true
	}
	for _, v := range []exactjson.Value{e.Args, e.ExecutedArgs, e.Result, e.Input, e.Output, e.Query, e.Documents} {
		if text(v) {
			return true
		}
	}
	for _, i := range fresh {
		if message(e.Request.Messages[i]) {
			return true
		}
	}
	return e.Response != nil && message(e.Response.Message)
}
