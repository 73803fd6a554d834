// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// newSpoolDir makes a spool with three records of two runs, of which one is released, and leaves it open or closed.
func newSpoolDir(t *testing.T, leaveOpen bool) string {
	t.Helper()
	dir := t.TempDir()
	log, err := spool.Open(dir, spool.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]spool.ID, 3)
	err = log.Append(t.Context(), []spool.Entry{
		{Key: []byte("acme/4bf92f35"), Payload: []byte("one")},
		{Key: []byte("acme/\xff"), Payload: bytes.Repeat([]byte("two"), 100)},
		{Key: []byte("acme/4bf92f35"), Payload: []byte("three")},
	}, ids)
	if err == nil {
		err = log.Release(ids[:1])
	}
	if err == nil {
		err = log.Append(t.Context(), []spool.Entry{{Key: []byte("acme/4bf92f35")}}, ids[:1])
	}
	if err != nil {
		t.Fatal(err)
	}
	if leaveOpen {
		t.Cleanup(func() { _ = log.Close() })
	} else if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree is every file of a folder with its bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

func TestSpoolInspectAndVerifyChangeNothing(t *testing.T) {
	for _, inUse := range []bool{false, true} {
		dir := newSpoolDir(t, inUse)
		before := tree(t, dir)
		for _, command := range []string{"inspect", "verify"} {
			got := tapedeck(t, "spool", command, dir)
			var report spool.Report
			if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != exitOK || got.stderr != "" {
				t.Fatalf("%+v %v", got, err)
			}
			if len(report.Segments) != 1 || report.Records != 3 || report.Segments[0].Records != 4 || report.Segments[0].Indexed == inUse || report.Oldest == "" {
				t.Errorf("%s, in use %v: %+v", command, inUse, report)
			}
			want := []spool.RunReport{{KeyHex: "61636d652fff", Records: 1, Bytes: 300}, {Key: "acme/4bf92f35", Records: 2, Bytes: 5}}
			if len(report.Runs) != 2 || report.Runs[0] != want[0] || report.Runs[1] != want[1] {
				t.Errorf("%+v", report.Runs)
			}
			if command == "verify" && report.Verified != 4 {
				t.Errorf("%d records verified", report.Verified)
			}
		}
		after := tree(t, dir)
		if len(after) != len(before) {
			t.Errorf("%d files, before %d", len(after), len(before))
		}
		for name, data := range before {
			if after[name] != data {
				t.Errorf("%s was changed", name)
			}
		}
	}
}

// TestSpoolNamesTenantAndTrace: keys of agentrun are shown as what they stand for.
func TestSpoolNamesTenantAndTrace(t *testing.T) {
	dir := t.TempDir()
	log, err := spool.Open(dir, spool.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	trace := pcommon.TraceID{0x4b, 0xf9, 0x2f, 15: 0x36}
	if err := log.Append(t.Context(), []spool.Entry{{Key: append(trace[:], "Umbrella Corp"...), Payload: []byte("x")}}, make([]spool.ID, 1)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"inspect", "verify"} {
		var report spool.Report
		got := tapedeck(t, "spool", command, dir)
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
			t.Fatal(err, got)
		}
		want := spool.RunReport{Tenant: "Umbrella Corp", TraceID: trace.String(), Records: 1, Bytes: 1}
		if len(report.Runs) != 1 || report.Runs[0] != want {
			t.Errorf("%s: %+v", command, report.Runs)
		}
	}
}

func TestSpoolVerifyNamesDamage(t *testing.T) {
	dir := newSpoolDir(t, false)
	segments, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	data[200] ^= 1
	if err := os.WriteFile(segments[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "spool", "verify", dir)
	if got.code != exitPartial || !strings.Contains(got.stdout, "1 damaged frames, 1 damaged records") || !strings.Contains(got.stderr, "damage in") {
		t.Errorf("%+v", got)
	}
}

func TestSpoolSaysWhyItCannot(t *testing.T) {
	file := write(t, "file", "x")
	for want, args := range map[string][]string{
		"holds no spool":           {"verify", t.TempDir()},
		"no such file":             {"inspect", "nodir"},
		"not a directory":          {"inspect", file},
		"needs a DIR":              {"inspect"},
		"takes one DIR, not 2":     {"verify", "a", "b"},
		`unknown command "repair"`: {"repair"},
	} {
		got := tapedeck(t, append([]string{"spool"}, args...)...)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
