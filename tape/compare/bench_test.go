// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// long is a run of n events: a model that asks for one call per turn, results of a kilobyte.
func long(n int, said string) *tape.Tape {
	t := &tape.Tape{Kind: tape.Kind, SchemaVersion: tape.SchemaVersion, Messages: map[string]tape.Message{}}
	for i := range n {
		e := tape.Event{Seq: i + 1, Status: tape.EventOK}
		args := exactjson.ObjectValue(exactjson.Member{Name: "query", Value: exactjson.StringValue(fmt.Sprint("item ", i/2))}, exactjson.Member{Name: "limit", Value: exactjson.IntValue(5)})
		if i%2 == 0 {
			m := tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartToolCall, Name: "search", Args: args}}}
			t.Messages[m.ID()] = m
			e.Type, e.Model, e.Response = tape.EventModelCall, "m", &tape.Response{Message: m.ID()}
		} else {
			e.Type, e.Name, e.Args, e.RequestedBy = tape.EventToolCall, "search", args, i
			e.Result = exactjson.StringValue(said + strings.Repeat(fmt.Sprintf(`{"hit":%d}`, i), 100))
		}
		t.Events = append(t.Events, e)
	}
	return t
}

// BenchmarkTapes shows what comparing costs beside reading the two tapes, which is the floor of the command.
func BenchmarkTapes(b *testing.B) {
	for _, n := range []int{1000, 2000, 20000} {
		whole := long(n, "")
		dropped := long(n, "")
		dropped.Events = slices.Delete(dropped.Events, n/4, n/4+1)
		data := whole.AppendJSON(nil)
		b.Run(fmt.Sprintf("read/%d", n), func(b *testing.B) {
			b.SetBytes(2 * int64(len(data)))
			for b.Loop() {
				for range 2 {
					if _, err := tape.Read(data); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		for _, c := range []struct {
			name  string
			other *tape.Tape
		}{{"equal", whole}, {"one-dropped", dropped}, {"all-results-changed", long(n, "other ")}} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.SetBytes(2 * int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Tapes(whole, c.other, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Runs that are too long for the table are still aligned. Cells bound the cost, not time.
func TestLongRunsAreAlignedWithinBounds(t *testing.T) {
	const n = 6000
	a, b := long(n, ""), long(n, "other ")
	b.Events = slices.Delete(b.Events, 10, 11)
	got := compared(t, a, b, Results)
	if got.Counts.Dropped != 1 || got.Counts.Inserted != 0 || got.Alignment != Anchored {
		t.Errorf("%s %+v", got.Alignment, got.Counts)
	}
	first, j := got.Steps[0], slices.IndexFunc(got.Steps, func(s Step) bool { return s.Kind == Dropped })
	if first.A.Seq != 2 || first.Kind != Changed || got.Steps[j].A.Seq != 11 {
		t.Errorf("%+v, dropped %+v", first.A, got.Steps[j].A)
	}

	rng := rand.New(rand.NewPCG(seed, 2))
	some := func() *tape.Tape { // nothing is unique
		list := make([]string, 5000)
		for i := range list {
			list[i] = fmt.Sprint("f ", rng.IntN(3))
		}
		return calls(list...)
	}
	x, y := some(), some()
	in := newInterner()
	l := &aligner{a: newSequence(x, Options{}, in), b: newSequence(y, Options{}, in), level: 1, how: Exact}
	l.stretch(0, len(l.a.items), 0, len(l.b.items), len(Levels)-1)
	if l.cells > maxTotal || l.how != Positional {
		t.Errorf("%d cells, %s", l.cells, l.how)
	}
	complete(t, x, y, compared(t, x, y, Results))
}
