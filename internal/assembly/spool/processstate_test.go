// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

func TestTheNextProcessKnowsWhatWasOnItsWay(t *testing.T) {
	dir := t.TempDir()
	// die leaves the directory to the next process as a kill does.
	die := func(l *Log) {
		t.Helper()
		next := t.TempDir()
		if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		dir = next
	}
	begin := func() *Log {
		t.Helper()
		l, err := Open(dir, Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b, c, long := []byte("acme/1"), []byte("acme/2"), []byte("acme/3"), bytes.Repeat([]byte("x"), MaxKeyBytes)
	l := begin()
	ids := make([]ID, 4)
	if err := l.Append(t.Context(), []Entry{{Key: a}, {Key: b}, {Key: c}, {Key: long}}, ids); err != nil {
		t.Fatal(err)
	}
	want := func(crashes ...int) {
		t.Helper()
		var got []int
		for _, k := range [][]byte{a, b, c, long} {
			got = append(got, l.ProcessState().Crashes(k))
		}
		if !slices.Equal(got, crashes) {
			t.Errorf("crashes %v, want %v", got, crashes)
		}
	}
	state := l.ProcessState()
	state.RecordUptime(time.Minute)
	state.RecordUptime(time.Second)
	state.Begin(b)
	state.End(b, false)
	state.Begin(a)
	state.Begin(c)
	state.End(c, true)
	state.Begin(long)
	die(l)

	l = begin()
	want(1, 0, 0, 1)
	if d := l.ProcessState().Uptime(); d != time.Minute {
		t.Errorf("uptime %s", d)
	}
	l.ProcessState().Begin(a)
	die(l)

	l = begin()
	want(2, 0, 0, 1)
	l.ProcessState().Begin(a)
	l.ProcessState().Begin(b)
	if err := l.Close(); err != nil { // in order
		t.Fatal(err)
	}
	l.ProcessState().End(b, true)

	l = begin()
	want(2, 0, 0, 1)
	l.ProcessState().Begin(a)
	l.ProcessState().End(a, true)
	die(l)

	l = begin()
	want(0, 0, 0, 1)
	if err := l.Release(ids[3:]); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = begin()
	want(0, 0, 0, 0) // nothing of it is held
	if n := len(l.ProcessState().keys); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSlotsOfTheProcessStateAreUsedAgain(t *testing.T) {
	l := loadProcessState(newFaultDir(1), zap.NewNop())
	for i := range 10_000 {
		for j := range 4 {
			l.Begin(fmt.Append(nil, i, j))
		}
		for j := range 4 {
			l.End(fmt.Append(nil, i, j), j%2 == 0)
		}
	}
	if l.slots != 4 {
		t.Errorf("%d slots for four at once", l.slots)
	}
}

// A disk that is full or fails costs the process state and nothing else.
func TestAProcessStateThatCannotBeWrittenEndsNothing(t *testing.T) {
	d := newFaultDir(1)
	d.fault = func(_, name string) error {
		if name == processStateName {
			return os.ErrPermission
		}
		return nil
	}
	b := openBook(t, d, Options{})
	b.log.ProcessState().Begin([]byte("key"))
	b.log.ProcessState().RecordUptime(time.Minute)
	b.append(b.entry(10))
	b.log.ProcessState().End([]byte("key"), true)
	b.close()
	b.open(d, Options{})
	b.check()
	b.close()
}

// FuzzProcessState: whatever the file holds, a log opens on it, and what it says then is what the next one reads.
func FuzzProcessState(f *testing.F) {
	d := newFaultDir(1)
	l := loadProcessState(d, zap.NewNop())
	l.RecordUptime(time.Hour)
	l.Begin([]byte("acme/1"))
	l.Begin([]byte("acme/2"))
	f.Add(d.names[processStateName].data)
	f.Add(d.names[processStateName].data[:processStateHeaderBytes+20])
	f.Add([]byte(processStateMagic))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newFaultDir(1)
		d.names[processStateName] = &faultFile{data: body}
		first := loadProcessState(d, zap.NewNop())
		first.Begin([]byte("another"))
		first.End([]byte("another"), true)
		first.close()
		second := loadProcessState(d, zap.NewNop())
		if first.Uptime() != second.Uptime() {
			t.Errorf("uptime %s, then %s", first.Uptime(), second.Uptime())
		}
		for key, n := range first.keys {
			if second.keys[key] == nil || second.keys[key].crashes != n.crashes {
				t.Errorf("%q: %d crashes, then %+v", key, n.crashes, second.keys[key])
			}
		}
	})
}

func TestCloseSaysThatTheLastSyncFailed(t *testing.T) {
	for _, mode := range []SyncMode{SyncInterval, SyncNone} {
		d := newFaultDir(1)
		b := openBook(t, d, Options{Sync: mode, SyncInterval: time.Hour})
		b.append(b.entry(100))
		d.fault = func(op, _ string) error {
			if op == "sync" {
				return os.ErrDeadlineExceeded
			}
			return nil
		}
		if err := b.log.Close(); err == nil || !strings.Contains(err.Error(), os.ErrDeadlineExceeded.Error()) {
			t.Errorf("%s: close: %v", mode, err)
		}
	}
}

func TestNamesOfNewDirectoriesAreMadeDurable(t *testing.T) {
	base := t.TempDir()
	var synced []string
	sync := func(dir string) error {
		rel, err := filepath.Rel(base, dir)
		synced = append(synced, rel)
		return err
	}
	for range 2 {
		if _, err := makeDir(filepath.Join(base, "a", "b", "spool"), sync); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{filepath.Join("a", "b"), "a", "."}; !slices.Equal(synced, want) {
		t.Errorf("%q were synced, want %q once", synced, want)
	}
	if _, err := makeDir(filepath.Join(base, "c"), func(string) error { return os.ErrPermission }); err == nil {
		t.Error("a name that is not durable is no error")
	}
}

func TestDamagedFilesThatAPersonDeletesFreeTheQuota(t *testing.T) {
	d := newFaultDir(1)
	o := Options{SegmentBytes: minSegmentBytes, MaxBytes: minQuotaSegments * minSegmentBytes}
	aside := segmentName(1) + damagedSuffix
	d.names[aside] = &faultFile{data: make([]byte, o.MaxBytes)}
	b := openBook(t, d, o)
	entry := b.entry(100)
	if err := b.log.Append(t.Context(), []Entry{entry}, make([]ID, 1)); err == nil {
		t.Fatal("the quota does not count what was quarantined")
	}
	if err := d.Remove(aside); err != nil {
		t.Fatal(err)
	}
	b.append(b.entry(100))
	if s := b.log.Stats(); s.QuarantinedFiles != 0 || s.DiskBytes > o.MaxBytes {
		t.Errorf("%+v", s)
	}
	b.close()
}
