// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// recorded is one tape of the committed corpus.
type recorded struct {
	name string
	data []byte
}

// read returns a copy of its own.
func (r recorded) read(tb testing.TB) *tape.Tape {
	tb.Helper()
	t, err := tape.Read(r.data)
	if err != nil {
		tb.Fatalf("%s: %v", r.name, err)
	}
	return t
}

// corpus returns every golden tape; a file can hold several.
func corpus(tb testing.TB) []recorded {
	tb.Helper()
	files, err := filepath.Glob("../../testdata/golden/*/*.json")
	if err != nil || len(files) < 60 {
		tb.Fatalf("%d golden files, %v", len(files), err)
	}
	var out []recorded
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(data))
		for n := 0; ; n++ {
			var one json.RawMessage
			if err := d.Decode(&one); err == io.EOF {
				break
			} else if err != nil {
				tb.Fatalf("%s: %v", file, err)
			}
			dir, scenario := filepath.Split(file)
			out = append(out, recorded{fmt.Sprintf("%s/%s#%d", filepath.Base(dir), scenario, n), one})
		}
	}
	return out
}

// with renumbers the events of a tape after some were taken out or put in: kept lists, for each new event, the index of the old one or
// -1 with the event in fresh. References to events that are gone are taken out.
func with(t *tape.Tape, kept []int, fresh tape.Event) {
	seq := map[int]int{}
	for n, old := range kept {
		if old >= 0 {
			seq[t.Events[old].Seq] = n + 1
		}
	}
	events := make([]tape.Event, len(kept))
	for n, old := range kept {
		if old < 0 {
			events[n] = fresh
		} else {
			events[n] = t.Events[old]
		}
		e := &events[n]
		e.Seq, e.Parent, e.RequestedBy, e.Via = n+1, seq[e.Parent], seq[e.RequestedBy], seq[e.Via]
	}
	t.Events = events
}

// rename gives every id of the run another one, and shifts times, durations and token counts; nothing that happened changes.
func rename(t *tape.Tape, rng *rand.Rand) {
	ids := map[string]string{}
	id := func(s *string) {
		if *s == "" {
			return
		}
		if ids[*s] == "" {
			b := make([]byte, len(*s))
			for i := range b {
				b[i] = "0123456789abcdef"[rng.IntN(16)]
			}
			ids[*s] = string(b)
		}
		*s = ids[*s]
	}
	all := func(s []string) {
		for i := range s {
			id(&s[i])
		}
	}
	number := func(n **int64) {
		if *n != nil {
			m := rng.Int64N(100000)
			*n = &m
		}
	}
	r := &t.Run
	for _, s := range []*string{&t.TapeID, &r.TraceID, &r.RootSpanID, &r.RunID, &r.ConversationID, &r.InvocationID, &r.CorrelationID, &r.WorkflowID, &r.TaskID, &r.Service.InstanceID} {
		id(s)
	}
	all(t.Sources.TraceIDs)
	later := time.Duration(rng.Int64N(int64(1000 * time.Hour)))
	r.StartedAt, r.EndedAt, r.DurationMS = r.StartedAt.Add(later), r.EndedAt.Add(2*later), rng.Int64N(1000000)
	number(&t.Usage.InputTokens)
	number(&t.Usage.OutputTokens)
	messages, renamed := map[string]tape.Message{}, map[string]string{}
	for old, m := range t.Messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			id(&p.ID)
			if p.Type == tape.PartToolCall {
				p.ArgsText = " " + p.Args.JSON()
			}
		}
		renamed[old] = m.ID()
		messages[m.ID()] = m
	}
	t.Messages = messages
	pool := func(s []string) {
		for i := range s {
			s[i] = renamed[s[i]]
		}
	}
	pool(t.Input.Messages)
	t.Output.Message = renamed[t.Output.Message]
	for i := range t.Events {
		e := &t.Events[i]
		all(e.SpanIDs)
		id(&e.ToolCallID)
		e.StartedAt, e.DurationMS = e.StartedAt.Add(later+time.Duration(rng.Int64N(int64(time.Minute)))), rng.Int64N(100000)
		if e.Request != nil {
			pool(e.Request.Messages)
		}
		if e.Response != nil {
			id(&e.Response.ID)
			e.Response.Message = renamed[e.Response.Message]
		}
		if u := e.Usage; u != nil {
			for _, n := range []**int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens} {
				number(n)
			}
		}
	}
}

// altered returns the value with one leaf changed, and where.
func altered(v exactjson.Value, rng *rand.Rand) (exactjson.Value, string) {
	changed := exactjson.StringValue(fmt.Sprintf("planted %d", rng.Uint32()))
	if v.Len() == 0 {
		switch v.Kind() {
		case exactjson.Object:
			return exactjson.ObjectValue(exactjson.Member{Name: "planted", Value: changed}), "$.planted"
		case exactjson.Array:
			return exactjson.ArrayValue(changed), "$[0]"
		}
		return changed, "$"
	}
	members := append([]exactjson.Member(nil), v.Members()...)
	at := rng.IntN(len(members))
	inner, path := altered(members[at].Value, rng)
	members[at].Value = inner
	if v.Kind() == exactjson.Object {
		return exactjson.ObjectValue(members...), jsonpath.AppendMember("$", members[at].Name) + path[1:]
	}
	elements := make([]exactjson.Value, len(members))
	for i := range members {
		elements[i] = members[i].Value
	}
	return exactjson.ArrayValue(elements...), fmt.Sprintf("$[%d]%s", at, path[1:])
}
