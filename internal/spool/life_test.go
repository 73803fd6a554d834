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
	want := func(deaths ...int) {
		t.Helper()
		var got []int
		for _, k := range [][]byte{a, b, c, long} {
			got = append(got, l.Life().Deaths(k))
		}
		if !slices.Equal(got, deaths) {
			t.Errorf("deaths %v, want %v", got, deaths)
		}
	}
	life := l.Life()
	life.Listen(time.Minute)
	life.Listen(time.Second)
	life.Begin(b)
	life.End(b, false)
	life.Begin(a)
	life.Begin(c)
	life.End(c, true)
	life.Begin(long)
	die(l)

	l = begin()
	want(1, 0, 0, 1)
	if d := l.Life().Listened(); d != time.Minute {
		t.Errorf("listened for %s", d)
	}
	l.Life().Begin(a)
	die(l)

	l = begin()
	want(2, 0, 0, 1)
	l.Life().Begin(a)
	l.Life().Begin(b)
	if err := l.Close(); err != nil { // in order
		t.Fatal(err)
	}
	l.Life().End(b, true)

	l = begin()
	want(2, 0, 0, 1)
	l.Life().Begin(a)
	l.Life().End(a, true)
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
	if n := len(l.Life().notes); n != 0 {
		t.Errorf("%d notes are left", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPlacesOfNotesAreUsedAgain(t *testing.T) {
	l := loadLife(newFaultDir(1), zap.NewNop())
	for i := range 10_000 {
		for j := range 4 {
			l.Begin(fmt.Append(nil, i, j))
		}
		for j := range 4 {
			l.End(fmt.Append(nil, i, j), j%2 == 0)
		}
	}
	if l.places != 4 {
		t.Errorf("%d places for four at once", l.places)
	}
}

// A disk that is full or fails costs the notes and nothing else.
func TestNotesThatCannotBeWrittenEndNothing(t *testing.T) {
	d := newFaultDir(1)
	d.fault = func(_, name string) error {
		if name == lifeName {
			return os.ErrPermission
		}
		return nil
	}
	b := openBook(t, d, Options{})
	b.log.Life().Begin([]byte("key"))
	b.log.Life().Listen(time.Minute)
	b.append(b.entry(10))
	b.log.Life().End([]byte("key"), true)
	b.close()
	b.open(d, Options{})
	b.check()
	b.close()
}

// FuzzLife: whatever the file holds, a log opens on it, and what it says then is what the next one reads.
func FuzzLife(f *testing.F) {
	d := newFaultDir(1)
	l := loadLife(d, zap.NewNop())
	l.Listen(time.Hour)
	l.Begin([]byte("acme/1"))
	l.Begin([]byte("acme/2"))
	f.Add(d.names[lifeName].data)
	f.Add(d.names[lifeName].data[:lifeHeaderBytes+20])
	f.Add([]byte(lifeMagic))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newFaultDir(1)
		d.names[lifeName] = &faultFile{data: body}
		first := loadLife(d, zap.NewNop())
		first.Begin([]byte("another"))
		first.End([]byte("another"), true)
		first.close()
		second := loadLife(d, zap.NewNop())
		if first.Listened() != second.Listened() {
			t.Errorf("listened %s, then %s", first.Listened(), second.Listened())
		}
		for key, n := range first.notes {
			if second.notes[key] == nil || second.notes[key].deaths != n.deaths {
				t.Errorf("%q: %d deaths, then %+v", key, n.deaths, second.notes[key])
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
		t.Fatal("the quota does not count what was moved aside")
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
