// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDirEnv); dir != "" {
		killChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestOneProcessHasTheDirectory(t *testing.T) {
	dir := t.TempDir()
	log, err := Open(dir, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}, nil); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err = Open(dir, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "spool")
	b := &book{t: t, held: map[ID]Entry{}}
	b.open(osDirOf(t, dir), Options{})
	b.append(b.entry(10))
	b.close()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, fi.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNoSymbolicLinkIsFollowed(t *testing.T) {
	for _, name := range []string{segmentName(1), lockName, reservedName, processStateName} {
		dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			if runtime.GOOS != "windows" {
				t.Fatal(err)
			}
			t.Skip("a user of Windows may make none: ", err)
		}
		log, err := Open(dir, Options{}, nil)
		if err == nil {
			_ = log.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name+" is a symbolic link") {
			t.Errorf("%s: %v", name, err)
		}
		if _, serr := os.Stat(target); !errors.Is(serr, fs.ErrNotExist) {
			t.Errorf("%s: the target was written: %v", name, err)
		}
	}
}

// A link that appears while the log is open is not followed either.
func TestNoSymbolicLinkIsFollowedLater(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	files := osDirOf(t, dir)
	if err := os.Symlink(target, filepath.Join(dir, segmentName(1))); err != nil {
		t.Skip("a user of Windows may make none: ", err)
	}
	log, err := open(files, Options{}, nil)
	if err == nil {
		_ = log.Append(t.Context(), []Entry{{}}, make([]ID, 1))
		_ = log.Close()
	}
	if _, serr := os.Stat(target); !errors.Is(serr, fs.ErrNotExist) {
		t.Errorf("the target was written: %v", err)
	}
}

func TestASpoolIsNoSymbolicLink(t *testing.T) {
	target := t.TempDir()
	for _, to := range []string{target, filepath.Join(target, "not there")} {
		dir := filepath.Join(t.TempDir(), "spool")
		if err := os.Symlink(to, dir); err != nil {
			t.Skip("a user of Windows may make none: ", err)
		}
		for _, name := range []string{dir, dir + "/"} {
			log, err := Open(name, Options{}, nil)
			if err == nil {
				_ = log.Close()
			}
			if err == nil || !strings.Contains(err.Error(), dir+" is a symbolic link") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if entries, err := os.ReadDir(target); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
	log, err := Open(filepath.Join(target, "spool"), Options{}, nil) // a link above it is the operator's
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"segments of 100 bytes":    {SegmentBytes: 100},
		"segments of 2147483648":   {SegmentBytes: 2 << 30},
		"a quota of 1000000 bytes": {SegmentBytes: 1 << 20, MaxBytes: 1_000_000},
		"dead ratio -1":            {MaxDeadRatio: -1},
		`sync mode "often"`:        {Sync: "often"},
		"sync interval":            {SyncInterval: -1},
		`compression "lzma"`:       {Compression: "lzma"},
	} {
		if _, err := Open(t.TempDir(), o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	for _, c := range []Compression{CompressionNone, CompressionZstd} {
		b := openBook(t, osDirOf(t, t.TempDir()), Options{SegmentBytes: minSegmentBytes, Compression: c})
		for name, entries := range map[string][]Entry{
			"key":   {{Key: make([]byte, MaxKeyBytes+1)}},
			"meta":  {{Meta: make([]byte, MaxMetaBytes+1)}},
			"batch": {b.entry(minSegmentBytes * 3)},
		} {
			if err := b.log.Append(t.Context(), entries, make([]ID, len(entries))); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s: %v", name, err)
			}
		}
		largest := minSegmentBytes - segmentHeaderBytes - frameHeaderBytes - recordHeaderBytes
		b.append(Entry{Payload: make([]byte, largest)})
		b.append(Entry{Key: make([]byte, MaxKeyBytes), Meta: make([]byte, MaxMetaBytes)})
		b.check()
		b.close()
	}
}

func TestACanceledAppendIsTakenBack(t *testing.T) {
	d := newFaultDir(1)
	b := openBook(t, d, Options{})
	b.append(b.entry(1))
	inSync, goOn := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	d.fault = func(op, _ string) error {
		if op == "sync" && !once.Swap(true) {
			close(inSync)
			<-goOn
		}
		return nil
	}
	first := make(chan error, 1)
	slow := b.entry(2)
	ids := make([]ID, 1)
	go func() { first <- b.log.Append(context.Background(), []Entry{slow}, ids) }()
	<-inSync
	ctx, cancel := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() { second <- b.log.Append(ctx, []Entry{b.entry(3)}, make([]ID, 1)) }()
	waitFor(t, func() bool {
		b.log.queue.mu.Lock()
		defer b.log.queue.mu.Unlock()
		return len(b.log.queue.list) == 1
	})
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	b.held[ids[0]] = slow
	if err := b.log.Append(ctx, []Entry{b.entry(4)}, make([]ID, 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.check()
	b.close()
	b.open(d, Options{})
	b.close()
}

func TestAFullLogRefusesAndDrains(t *testing.T) {
	for name, c := range map[string]struct {
		o        Options
		capacity int64
	}{
		"quota": {o: Options{SegmentBytes: minSegmentBytes, MaxBytes: 12 * minSegmentBytes}},
		"disk":  {o: Options{SegmentBytes: minSegmentBytes}, capacity: 12 * minSegmentBytes},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFaultDir(1)
			d.capacity = c.capacity
			b := openBook(t, d, c.o)
			var ids []ID
			fill := func() {
				for {
					e := []Entry{b.entry(5000), b.entry(5000)}
					got := make([]ID, 2)
					err := b.log.Append(t.Context(), e, got)
					if errors.Is(err, ErrFull) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					b.held[got[0]], b.held[got[1]] = e[0], e[1]
					ids = append(ids, got...)
					if c.o.MaxBytes > 0 && b.log.Stats().DiskBytes > c.o.MaxBytes {
						t.Fatalf("%+v", b.log.Stats())
					}
				}
			}
			for range 4 {
				fill()
				b.check()
				// Every second record goes: nothing is free until compaction has moved the others, in a full log.
				var keep, gone []ID
				for i, id := range ids {
					if i%2 == 0 {
						gone = append(gone, id)
					} else {
						keep = append(keep, id)
					}
				}
				b.release(gone...)
				before := len(keep)
				waitFor(t, func() bool {
					ids = keep
					fill()
					keep = ids
					return len(keep) > before+10
				})
				b.check()
			}
			if s := b.log.Stats(); s.Refused == 0 || s.CompactedBytes == 0 || s.CommitErrors != 0 {
				t.Errorf("%+v", s)
			}
			b.close()
			b.open(d, c.o)
			b.check()
			b.close()
		})
	}
}

func TestAFailedSyncSealsTheSegment(t *testing.T) {
	d := newFaultDir(1)
	b := openBook(t, d, Options{})
	b.append(b.entry(1000))
	before := b.log.active.number
	failed := false
	d.fault = func(op, name string) error {
		if op == "sync" && name == segmentName(before) && !failed {
			failed = true
			return syscall.EIO
		}
		return nil
	}
	if err := b.log.Append(t.Context(), []Entry{b.entry(10)}, make([]ID, 1)); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	b.append(b.entry(10))
	if s := b.log.Stats(); b.log.active.number == before || s.SyncErrors != 1 || s.CommitErrors != 1 {
		t.Errorf("segment %d after %d: %+v", b.log.active.number, before, s)
	}
	b.check()
	b.close()
	b.open(d, Options{})
	b.check()
	b.close()
}

// TestAFailedRollbackIsNoRefusal: ErrFull promises that nothing of the batch comes back, which only a durable rollback can keep.
func TestAFailedRollbackIsNoRefusal(t *testing.T) {
	for name, faults := range map[string]map[string]error{
		"sync of the batch":    {"sync": syscall.ENOSPC},
		"sync of the rollback": {"write": syscall.ENOSPC, "sync": syscall.EIO},
		"truncation":           {"write": syscall.ENOSPC, "truncate": syscall.EIO},
		"none":                 {"write": syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFaultDir(1)
			b := openBook(t, d, Options{})
			b.append(b.entry(1000))
			before := b.log.active.number
			faults := maps.Clone(faults)
			undone := len(faults) == 1 && faults["write"] != nil
			d.fault = func(op, file string) error {
				err := faults[op]
				if file != segmentName(before) {
					return nil
				}
				delete(faults, op)
				return err
			}
			err := b.log.Append(t.Context(), []Entry{b.entry(10)}, make([]ID, 1))
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFull) != undone {
				t.Error(err)
			}
			b.append(b.entry(10))
			if s := b.log.Stats(); (b.log.active.number == before) != undone || (s.Refused == 1) != undone || (s.CommitErrors == 1) == undone {
				t.Errorf("segment %d after %d: %+v", b.log.active.number, before, s)
			}
			b.check()
			b.close()
		})
	}
}

func TestAReleaseDuringACopyHolds(t *testing.T) {
	// The compactor has read what it copies, or the committer writes the copies, when some of them are released.
	for _, when := range []string{"read", "write"} {
		d := newFaultDir(1)
		o := Options{SegmentBytes: minSegmentBytes, MaxDeadRatio: 0.5}
		b := openBook(t, d, o)
		var ids []ID
		for range 40 {
			ids = append(ids, b.append(b.entry(3000), b.entry(3000))...)
		}
		var released atomic.Bool
		d.fault = func(op, name string) error {
			if op == when && strings.HasSuffix(name, segmentSuffix) && !released.Swap(true) {
				if err := b.log.Release(ids[:3]); err != nil {
					t.Error(err)
				}
			}
			return nil
		}
		b.release(ids[10:]...)
		waitFor(t, func() bool { return released.Load() && b.log.Stats().Segments < 3 })
		for _, id := range ids[:3] {
			delete(b.held, id)
		}
		b.append(b.entry(1)) // with which the release is durable
		b.check()
		live := int64(0)
		for _, e := range b.held {
			live += int64(recordHeaderBytes + len(e.Key) + len(e.Meta) + len(e.Payload))
		}
		if s := b.log.Stats(); s.LiveBytes != live+7*originBytes {
			t.Errorf("%s: %d live bytes, not %d", when, s.LiveBytes, live+7*originBytes)
		}
		b.close()
		b.open(d, o)
		b.check()
		b.close()
	}
}

func TestReadersKeepTheirSegment(t *testing.T) {
	b := openBook(t, osDirOf(t, t.TempDir()), Options{SegmentBytes: minSegmentBytes, MaxDeadRatio: 0.1})
	var ids []ID
	for range 30 {
		ids = append(ids, b.append(b.entry(9000))...)
	}
	want := b.held[ids[1]]
	err := b.log.Read(ids[:2], func(i int, meta, payload []byte) error {
		if i == 0 { // the records go while they are read
			b.release(ids...)
			b.append(b.entry(10))
			return nil
		}
		if !bytes.Equal(meta, want.Meta) || !bytes.Equal(payload, want.Payload) {
			t.Errorf("reads as %s", meta)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return b.log.Stats().Segments == 1 })
	stop := errors.New("stop")
	if err := b.log.Read([]ID{1}, nil); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	for id := range b.held {
		if err := b.log.Read([]ID{id}, func(int, []byte, []byte) error { return stop }); err != stop {
			t.Error(err)
		}
	}
	b.close()
}

func TestTheIntervalSyncs(t *testing.T) {
	d := newFaultDir(1)
	b := openBook(t, d, Options{Sync: SyncInterval, SyncInterval: time.Millisecond})
	b.append(b.entry(100))
	waitFor(t, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.durable[segmentName(1)].pending) == 0
	})
	d.fault = func(op, _ string) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	}
	b.append(b.entry(100))
	waitFor(t, func() bool { return b.log.Stats().SyncErrors > 0 })
	d.mu.Lock()
	d.fault = nil
	d.mu.Unlock()
	b.append(b.entry(100))
	b.check()
	b.close()
	b.open(d, Options{})
	b.check()
	b.close()
}

func TestCommitsAreReported(t *testing.T) {
	var entries, commits int
	var size int64
	o := Options{OnCommit: func(d time.Duration, bytes int64, n int) {
		if d <= 0 {
			t.Error(d)
		}
		commits, size, entries = commits+1, size+bytes, entries+n
	}}
	b := openBook(t, osDirOf(t, t.TempDir()), o)
	b.append(b.entry(100), b.entry(100))
	b.append(b.entry(100))
	s := b.log.Stats()
	b.close()
	if entries != 3 || commits != 2 || size != s.WrittenBytes || int64(commits) != s.Commits {
		t.Errorf("%d entries, %d commits, %d bytes; %+v", entries, commits, size, s)
	}
}
