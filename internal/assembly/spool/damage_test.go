// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layout writes 3 segments of 3 batches with 2 records each and returns where the frames of each segment begin.
func layout(t *testing.T, fs fileSystem, o Options) (b *book, frames [][]int64) {
	t.Helper()
	b = openBook(t, fs, o)
	for range 3 {
		var at []int64
		for range 3 {
			b.append(b.entry(9000), b.entry(9000))
			at = append(at, int64(b.log.active.end))
		}
		frames = append(frames, append([]int64{segmentHeaderBytes}, at[:2]...))
	}
	b.close()
	return b, frames
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x40
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamageCostsWhatItHitsAndNothingElse(t *testing.T) {
	// Where a bit is flipped, whether the index is there, and how many of the 18 records are then left.
	const inPayload = frameHeaderBytes + recordHeaderBytes + 100
	for _, c := range []struct {
		name    string
		segment int
		frame   int
		at      int64
		index   bool
		left    int
	}{
		{"a payload, index there", 0, 1, inPayload, true, 17},
		{"a payload", 0, 1, inPayload, false, 17},
		{"the payload of the last frame", 0, 2, inPayload, false, 17},
		{"a record header", 1, 1, frameHeaderBytes + 13, false, 16},
		{"a frame header", 1, 1, 9, false, 16},
		{"a frame header, index there", 1, 1, 9, true, 18},
		{"the salt of a frame", 1, 0, 3, false, 16},
		{"the segment header", 0, 0, -20, false, 18},
		{"the segment header, index there", 0, 0, -20, true, 18},
		{"a payload of the last segment", 2, 0, inPayload, false, 17},
		{"the end of the last segment, as a torn write", 2, 2, inPayload, false, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{SegmentBytes: minSegmentBytes}
			_, frames := layout(t, osDirOf(t, dir), o)
			files, err := filepath.Glob(filepath.Join(dir, "*.seg"))
			if err != nil || len(files) != 3 {
				t.Fatal(files, err)
			}
			flip(t, files[c.segment], frames[c.segment][c.frame]+c.at)
			if !c.index {
				if err := os.Remove(strings.TrimSuffix(files[c.segment], segmentSuffix) + indexSuffix); err != nil {
					t.Fatal(err)
				}
			}
			torn := strings.Contains(c.name, "torn")
			report, err := Verify(t.Context(), dir)
			if err != nil || (len(report.Damage) == 0) != torn {
				t.Errorf("verify: %v %v", report.Damage, err)
			}

			// Twice: what the first start has found, the second knows.
			for range 2 {
				found := map[ID]string{}
				log, err := Open(dir, o, func(h Held) error {
					found[h.ID] = string(h.Meta)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				left := 0
				ids := make([]ID, 0, len(found))
				for id := range found {
					ids = append(ids, id)
				}
				err = log.Read(ids, func(i int, meta, _ []byte) error {
					left++
					if found[ids[i]] != string(meta) {
						t.Errorf("%s reads as %s", found[ids[i]], meta)
					}
					return nil
				})
				var corrupt *CorruptError
				if errors.As(err, &corrupt) {
					if left+len(corrupt.IDs) != len(ids) || log.Stats().CorruptRecords == 0 {
						t.Errorf("%v: %+v", err, log.Stats())
					}
				} else if err != nil {
					t.Error(err)
				}
				if left != c.left {
					t.Errorf("%d records are left, not %d; %+v", left, c.left, log.Stats())
				}
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestADamagedSegmentIsMovedAsideAndNotDeleted(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: minSegmentBytes, MaxDeadRatio: 0.5}
	_, frames := layout(t, osDirOf(t, dir), o)
	first := filepath.Join(dir, segmentName(1))
	flip(t, first, frames[0][0]+500)
	var ids []ID
	log, err := Open(dir, o, func(h Held) error {
		ids = append(ids, h.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Release(ids[6:]); err != nil { // the oldest segment is copied forward now
		t.Fatal(err)
	}
	waitFor(t, func() bool { return log.Stats().QuarantinedFiles == 1 })
	n := 0
	err = log.Read(ids[:6], func(int, []byte, []byte) error { n++; return nil })
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || !slices.Equal(corrupt.IDs, ids[:1]) || n != 5 {
		t.Errorf("%d read: %v", n, err)
	}
	if err := errors.Join(log.Release(ids[:1]), log.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first + damagedSuffix); err != nil {
		t.Error(err)
	}
	report, err := Verify(t.Context(), dir)
	if err != nil || report.Records != 5 || len(report.SetAside) != 1 || len(report.Damage) != 0 {
		t.Errorf("%+v %v", report, err)
	}
}

func TestNoPayloadLooksLikeAFrame(t *testing.T) {
	// A payload that holds a whole segment of another log is only a payload, also when the frame around it cannot be read.
	dir := t.TempDir()
	layout(t, osDirOf(t, dir), Options{SegmentBytes: minSegmentBytes})
	foreign, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	b := openBook(t, osDirOf(t, dir), Options{})
	b.append(Entry{Key: []byte("k"), Meta: []byte("hostile"), Payload: foreign})
	b.append(b.entry(10))
	b.append(b.entry(10))
	b.close()
	path := filepath.Join(dir, segmentName(1))
	flip(t, path, segmentHeaderBytes+10) // the header of the frame that holds it
	if err := os.Remove(filepath.Join(dir, indexName(1))); err != nil {
		t.Fatal(err)
	}
	log, err := Open(dir, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Held != 2 || s.CorruptFrames != 1 {
		t.Errorf("%+v", s)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestDamagedSegmentIndexesAreWrittenAgain(t *testing.T) {
	for _, at := range []int64{3, 13, 45, 80, -1} {
		dir := t.TempDir()
		o := Options{SegmentBytes: minSegmentBytes}
		b, _ := layout(t, osDirOf(t, dir), o)
		path := filepath.Join(dir, indexName(2))
		if at < 0 {
			fi, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			at += fi.Size()
		}
		flip(t, path, at)
		b.open(osDirOf(t, dir), o)
		b.check()
		if s := b.log.Stats(); s.IndexesRewritten != 1 || s.CorruptFrames != 0 {
			t.Errorf("byte %d: %+v", at, s)
		}
		b.close()
	}
}

func TestALaterVersionEndsTheStart(t *testing.T) {
	dir := t.TempDir()
	layout(t, osDirOf(t, dir), Options{SegmentBytes: minSegmentBytes})
	h := segmentHeader{number: 4, salt: 1}.encode()
	h[8] = 2
	le.PutUint32(h[44:], checksum(h[:44]))
	if err := os.WriteFile(filepath.Join(dir, segmentName(4)), h, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{}, nil)
	if err == nil || !strings.Contains(err.Error(), "format version 2, this version reads 1") {
		t.Error(err)
	}
	if _, ierr := Inspect(dir); ierr == nil {
		t.Error("inspect reads it")
	}
}
