// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// gcAt runs gc at a time.
func gcAt(t *testing.T, at time.Time, address string, yes bool) (stdout string) {
	t.Helper()
	var out, problems bytes.Buffer
	f := gcFlags{days: 90, failureDays: 180, undecidedDays: 90, yes: yes, now: func() time.Time { return at }}
	if err := f.run(t.Context(), address, &out, &problems); err != nil || problems.Len() > 0 {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	return out.String()
}

func TestGCSaysWhatGoesBeforeItGoes(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"file": func(t *testing.T) string { return "file://" + t.TempDir() },
		"s3":   func(t *testing.T) string { return decktest.S3(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			to := address(t)
			made := lines(t, tapedeck(t, "derive", forge, "--to", to, "--redact", "off").stdout)[0]
			show := func() result { return tapedeck(t, "show", made.URL) }
			var tp struct {
				Run struct {
					EndedAt time.Time `json:"ended_at"`
				} `json:"run"`
			}
			if err := json.Unmarshal([]byte(tapedeck(t, "show", made.URL, "--json").stdout), &tp); err != nil {
				t.Fatal(err)
			}
			expired := tp.Run.EndedAt.Add(90 * 24 * time.Hour)
			if got := gcAt(t, expired.Add(-1), to, true); !strings.HasPrefix(got, `{"summary":{"dry_run":false,"places":1,"traces":0,`) {
				t.Errorf("too early: %s", got)
			}
			dry := gcAt(t, expired, to, false)
			if !strings.Contains(dry, `"reason":"retention","run_ids":["`+made.RunID+`"]`) || !strings.Contains(dry, `"removed":false`) || !strings.Contains(dry, `"dry_run":true`) {
				t.Errorf("%s", dry)
			}
			if got := show(); got.code != exitOK {
				t.Errorf("a dry run takes it away: %+v", got)
			}
			if got := gcAt(t, expired, to, true); !strings.Contains(got, `"objects":3,"removed":true`) {
				t.Errorf("%s", got)
			}
			if got := show(); got.code == exitOK {
				t.Error("it is there still")
			}
			if got := tapedeck(t, "gc", to); got.code != exitOK || got.stdout != `{"summary":{"dry_run":true,"places":0,"traces":0,"generations":0,"leftovers":0,"temporary":0,"objects":0,"changed":0,"failed":0}}`+"\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestGCMisuse(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {t.TempDir()}, {"mem://x"}, {t.TempDir(), "--dry-run", "--yes"}, {t.TempDir(), "--days", "0"}, {t.TempDir(), "--failure-days", "99999999"}} {
		if got := tapedeck(t, append([]string{"gc"}, args...)...); got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
