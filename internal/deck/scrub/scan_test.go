// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
)

func TestSearchShowsNoNameThatIsAHit(t *testing.T) {
	const secret = "jane.doe@corp-mail.com"
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	o := Search("runs/x/tape.json", []byte(`{"a":{"`+secret+`":{"password":"hunter2-FAKE-password"}}}`), gate)
	if len(o.Hits) < 2 || o.Clear() {
		t.Errorf("%+v", o)
	}
	for _, hit := range o.Hits {
		if strings.Contains(hit.Path, "jane") {
			t.Errorf("the path is %s", hit.Path)
		}
	}
}

func TestWhatCannotBeUnpackedIsNotClear(t *testing.T) {
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	if o := Search("runs/x/parts/1"+deck.PartSuffix, []byte("no zstd"), gate); o.Clear() || o.Err == nil {
		t.Errorf("%+v", o)
	}
}
