// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package runindex

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

func object(i int) deck.Object {
	return deck.Object{Key: fmt.Sprintf("runs/%06d", i), Size: int64(i), Version: "v"}
}

// TestAnIndexKeepsWhatIsThere, over several blocks: what is new comes in, what is gone or another one goes.
func TestAnIndexKeepsWhatIsThere(t *testing.T) {
	folder := t.TempDir()
	zero := int64(0)
	pass := func(objects []deck.Object, whole bool) (known int) {
		x := Open(folder, "file:///deck", deck.AreaRuns)
		for _, o := range objects {
			m, ok := x.Get(o)
			if ok {
				if known++; m.RunID != o.Key || m.UserMessage != "" || m.ToolCalls == nil || *m.ToolCalls != 0 || m.InputTokens != nil {
					t.Fatalf("%+v", m)
				}
				continue
			}
			x.Put(o, reel.Meta{RunID: o.Key, UserMessage: "content", ToolCalls: &zero})
		}
		x.Close(whole)
		return known
	}
	var all []deck.Object
	for i := range 3*blockEntries + 7 {
		all = append(all, object(i))
	}
	if n := pass(all[:700], false); n != 0 {
		t.Error(n)
	}
	for i, step := range []struct {
		objects []deck.Object
		known   int
	}{{all[:600], 0}, {all[:600], 600}, {all[100:], 500}, {all[100:], len(all) - 100}, {all, len(all) - 100}, {all, len(all)}, {nil, 0}, {all[:3], 0}} {
		if n := pass(step.objects, true); n != step.known {
			t.Errorf("step %d: %d are known, want %d", i, n, step.known)
		}
	}
	other := object(1)
	other.Version = "w"
	if n := pass([]deck.Object{object(0), other, object(2)}, true); n != 2 {
		t.Errorf("%d are known of two and another one", n)
	}
	other.Version = ""
	if n := pass([]deck.Object{other}, true); n != 0 {
		t.Error("an object without a version is known")
	}
	files, err := filepath.Glob(filepath.Join(folder, "files", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("%q, %v", files, err)
	}
	if body, err := os.ReadFile(files[0]); err != nil || bytes.Contains(body, []byte("content")) {
		t.Error("the index has content", err)
	}
}

func FuzzReadBlock(f *testing.F) {
	var b bytes.Buffer
	if err := writeBlock(&b, []Entry{{Key: "k", Size: 1, Version: "v"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:20])
	f.Fuzz(func(_ *testing.T, data []byte) {
		for r := bytes.NewReader(data); ; {
			if _, err := readBlock(r); err != nil {
				return
			}
		}
	})
}
