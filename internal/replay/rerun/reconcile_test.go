// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Where two results differ in more than what is volatile, only the rest is a difference.
func TestADifferenceHoldsNothingVolatile(t *testing.T) {
	recorded, replayed := called(t, "shell", `{"n":1}`), called(t, "shell", `{"n":1}`)
	recorded.Events[0].Result = exactjson.StringValue("Chunk ID: 8dfb49\n5 notes.txt")
	replayed.Events[0].Result = exactjson.StringValue("Chunk ID: d48a56\n4 notes.txt")
	now := time.Now()
	c := &Reconciler{Normal: oracle.Normal{Volatile: &normalise.Volatile{From: now, To: now}}, Names: &normalise.Renaming{}, Served: func(string, string) bool { return false }}
	r, tolerated, err := c.Compare(recorded, replayed, compare.Options{Level: compare.Results})
	if err != nil || r.Equal || len(tolerated) != 0 || r.First == nil {
		t.Fatalf("%+v, %v, %v", r, tolerated, err)
	}
	d := r.First.Differences[0]
	if d.Field != compare.FieldResult || d.A.Str() != "Chunk ID: 8dfb49\n5 notes.txt" || d.B.Str() != "Chunk ID: 8dfb49\n4 notes.txt" {
		t.Errorf("%+v", d)
	}
	if got := replayed.Events[0].Result.Str(); got != "Chunk ID: d48a56\n4 notes.txt" {
		t.Errorf("the tape has %q", got)
	}
}
