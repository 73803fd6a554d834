// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

const killDirEnv = "TAPEDECK_TEST_SPOOL_KILL"

// killPayload is what the child stores under a name.
func killPayload(name string) []byte { return bytes.Repeat([]byte(name), 200) }

// killChild appends until it is killed and says on stdout what was acknowledged and what it is about to release.
func killChild(dir string) {
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) // one write: a line is there whole or not at all
	}
	var found []ID
	log, err := Open(dir, Options{SegmentBytes: 1 << 18}, func(h Held) error {
		found = append(found, h.ID)
		return nil
	})
	if err != nil {
		say("failed %v", err)
		return
	}
	say("open")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, n)
				ids := make([]ID, 1)
				if err := log.Append(context.Background(), []Entry{{Key: []byte("run"), Meta: []byte(name), Payload: killPayload(name)}}, ids); err != nil {
					say("failed %v", err)
					return
				}
				say("have %s", name)
				if n%3 > 0 {
					say("let %s", name)
					if err := log.Release(ids); err != nil {
						say("failed %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestAKilledProcessLosesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	dir := t.TempDir()
	must, may := map[string]bool{}, map[string]bool{}
	for kill := range 30 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killDirEnv+"="+dir)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		for after := 1 + rng.IntN(600); lines.Scan(); after-- {
			verb, name, _ := strings.Cut(lines.Text(), " ")
			switch verb {
			case "have":
				must[name] = true
			case "let":
				delete(must, name)
				may[name] = true
			case "failed":
				t.Errorf("kill %d: %s", kill, name)
			}
			if after == 0 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		if kill%5 > 0 {
			continue // the next child recovers on top of it
		}
		seen := map[string]bool{}
		names := map[ID]string{}
		log, err := Open(dir, Options{SegmentBytes: 1 << 18}, func(h Held) error {
			name := string(h.Meta)
			if seen[name] {
				t.Errorf("%s is recovered twice", name)
			}
			seen[name] = true
			names[h.ID] = name
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name := range must {
			if !seen[name] {
				t.Errorf("%s is lost", name)
			}
		}
		var ids []ID
		for id := range names {
			ids = append(ids, id)
		}
		err = log.Read(ids, func(i int, meta, payload []byte) error {
			if string(meta) != names[ids[i]] || !bytes.Equal(payload, killPayload(string(meta))) {
				t.Errorf("%s reads as %s", names[ids[i]], meta)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		// A record that was acknowledged and is not known to the test was printed too late. From here on it is known.
		if s := log.Stats(); s.CorruptFrames+s.CorruptRecords != 0 {
			t.Errorf("%+v", s)
		}
		if err := log.Release(ids); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		clear(must)
	}
	if len(may) == 0 {
		t.Error("no child released anything")
	}
}
