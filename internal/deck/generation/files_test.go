// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/schema"
)

func fullTape(t *testing.T) *tape.Tape {
	t.Helper()
	data, err := os.ReadFile("../../../tape/testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

// TestEveryFormatLiesBesideTheTape: tape.json is the last one and vouches for the others, and a second call
// changes nothing.
func TestEveryFormatLiesBesideTheTape(t *testing.T) {
	tp := fullTape(t)
	files, _, err := Files(nil, tp, KnownFormats())
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{}
	for _, f := range files {
		if bodies[f.Name] != nil || deck.CheckKey(f.Name) != nil || len(f.Body) == 0 {
			t.Errorf("%q comes twice, fits no deck or is empty", f.Name)
		}
		bodies[f.Name] = f.Body
	}
	if len(files) != len(KnownFormats()) || files[len(files)-1].Name != tape.TapeFile {
		t.Errorf("%d files", len(files))
	}
	for _, p := range tape.Verify(tp, bodies, schema.Check, oracle.Check) {
		if p.Code != tape.ProblemProof { // the proof of this tape is made up
			t.Errorf("%+v", p)
		}
	}
	again, _, err := Files(make([]byte, 0, 10), tp, KnownFormats())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, again); diff != "" {
		t.Error(diff)
	}
}

func TestAFormatThatCannotHoldTheRunIsNamed(t *testing.T) {
	tp := fullTape(t)
	odd, err := exactjson.Parse(`{"waza":{"snapshot":{"task":{"testId":7}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	tp.Extensions = odd
	files, _, err := Files(nil, tp, []string{FormatTape, "waza"})
	if err != nil || len(files) != 1 || files[0].Name != tape.TapeFile {
		t.Fatalf("%v %v", files, err)
	}
	if why := tp.Extensions.Get("tapedeck").Get("left_out").Get("waza").Str(); why == "" {
		t.Errorf("%s", tp.Extensions.JSON())
	}
	// When it can, the note goes away.
	tp.Extensions = exactjson.ObjectValue(exactjson.Member{Name: "tapedeck", Value: tp.Extensions.Get("tapedeck")})
	if files, _, err = Files(nil, tp, []string{FormatTape, "waza"}); err != nil || len(files) != 2 || !tp.Extensions.Get("tapedeck").Get("left_out").IsAbsent() {
		t.Errorf("%v %v %s", files, err, tp.Extensions.JSON())
	}
}
