// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// Report is what Inspect and Verify find in a directory. Sizes are in bytes.
type Report struct {
	Dir      string          `json:"dir"`
	Segments []SegmentReport `json:"segments"` // oldest first
	Runs     []RunReport     `json:"runs"`     // in the order of their oldest records
	SetAside []string        `json:"set_aside,omitempty"`

	Records   int64  `json:"records"` // held
	LiveBytes int64  `json:"live_bytes"`
	DeadBytes int64  `json:"dead_bytes"`
	DiskBytes int64  `json:"disk_bytes"`       // of all files
	Oldest    string `json:"oldest,omitempty"` // when the segment of the oldest held record was begun, RFC 3339

	// Verified and what follows are Verify's.
	Verified   int64    `json:"verified_records,omitempty"` // records whose checksums are right, dead ones included
	VerifiedIn int64    `json:"verified_bytes,omitempty"`
	Damage     []string `json:"damage,omitempty"` // one line each: file, place, what
}

// SegmentReport is one segment of a Report.
type SegmentReport struct {
	Number    uint32 `json:"number"`
	Version   int    `json:"version"`
	Created   string `json:"created,omitempty"` // RFC 3339
	Bytes     int64  `json:"bytes"`             // of the file
	Records   int64  `json:"records"`           // held and dead ones
	Live      int64  `json:"live_records"`
	LiveBytes int64  `json:"live_bytes"`
	DeadBytes int64  `json:"dead_bytes"`
	Indexed   bool   `json:"sidecar"`              // it has a valid segment index; the open segment has none. The JSON name is older than the term
	Damaged   bool   `json:"damaged,omitempty"`    // damage was found in it
	TornBytes int64  `json:"torn_bytes,omitempty"` // of a write in progress, or one that a crash has cut off: the next start removes it
}

// Raw is the key.
func (r *RunReport) Raw() []byte {
	if r.Key != "" {
		return []byte(r.Key)
	}
	raw, _ := hex.DecodeString(r.KeyHex) // in.run has encoded it
	return raw
}

// RunReport is what is held of one key.
type RunReport struct {
	// Tenant and TraceID are what the key stands for. The spool does not know them. The caller that wrote the keys fills them in, instead of
	// the key.
	Tenant  string `json:"tenant,omitempty"`
	TraceID string `json:"trace_id,omitempty"`
	Key     string `json:"key,omitempty"`
	KeyHex  string `json:"key_hex,omitempty"` // instead of key, when that is no printable text
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"` // of the payloads, before compression
}

// Inspect reads what a directory holds. It changes nothing and takes no lock, so it works beside the process that has the log open. It may
// or may not see what that process does meanwhile. Errors: no such directory, no spool in it, a later format version.
func Inspect(dir string) (*Report, error) {
	in, err := inspect(dir, osDir{dir})
	if err != nil {
		return nil, err
	}
	return &in.report, nil
}

// Verify does what Inspect does, and also reads every record of every segment and compares every checksum. Report.Damage lists what is
// wrong. The torn end of a write that a crash has cut off is no damage.
func Verify(ctx context.Context, dir string) (*Report, error) {
	return verify(ctx, dir, osDir{dir})
}

func verify(ctx context.Context, dir string, files fileSystem) (*Report, error) {
	in, err := inspect(dir, files)
	if err != nil {
		return nil, err
	}
	for i := range in.report.Segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := in.verify(&in.report.Segments[i], i == len(in.report.Segments)-1); err != nil {
			return nil, err
		}
	}
	return &in.report, nil
}

// inspection is a Report that is being made.
type inspection struct {
	report Report
	fs     fileSystem
	runs   map[string]*RunReport
	order  []*RunReport
	parts  []*segmentIndex
}

func inspect(dir string, files fileSystem) (*inspection, error) {
	in := &inspection{report: Report{Dir: dir, Segments: []SegmentReport{}, Runs: []RunReport{}}, fs: files, runs: map[string]*RunReport{}}
	list, err := files.List()
	if err != nil {
		return nil, err
	}
	spool := false
	var numbers []uint32
	for _, f := range list {
		n, ok := fileNumber(f.name, segmentSuffix)
		_, aside := fileNumber(f.name, segmentSuffix+damagedSuffix)
		_, side := fileNumber(f.name, indexSuffix)
		if ok && f.regular {
			numbers = append(numbers, n)
		}
		if aside {
			in.report.SetAside = append(in.report.SetAside, f.name)
		}
		if ok || aside || side || f.name == reservedName || f.name == processStateName {
			in.report.DiskBytes += f.size
		}
		spool = spool || ok || aside || f.name == lockName
	}
	if !spool {
		return nil, fmt.Errorf("%s holds no spool", dir)
	}
	slices.Sort(numbers)
	released := map[uint32][]uint32{}
	for i, n := range numbers {
		if err := in.load(n, i == len(numbers)-1, released); err != nil {
			return nil, err
		}
	}
	for i := range in.report.Segments {
		if err := in.count(&in.report.Segments[i], in.parts[i], released); err != nil {
			return nil, err
		}
	}
	for _, r := range in.order {
		in.report.Runs = append(in.report.Runs, *r)
	}
	return in, nil
}

// load reads the index of a segment, or scans the segment. A segment that was deleted after it was listed is left out.
func (in *inspection) load(number uint32, last bool, released map[uint32][]uint32) error {
	f, err := in.fs.Open(segmentName(number), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	r := SegmentReport{Number: number, Version: version, Bytes: size}
	c, err := in.readSegmentIndex(number, size)
	if errors.As(err, new(errVersion)) {
		return fmt.Errorf("%s: %w", indexName(number), err)
	}
	r.Indexed = err == nil
	if err != nil {
		found, err := scanSegment(f, size, number, !last)
		if errors.Is(err, errUnreadable) {
			c = newSegmentIndex(segmentHeader{number: number})
			c.damaged = !last
		} else if err != nil {
			return fmt.Errorf("%s: %w", segmentName(number), err)
		} else {
			c, r.TornBytes = found.index, found.torn
		}
	}
	r.Damaged = c.damaged
	if c.created != 0 {
		r.Created = time.UnixMilli(c.created).UTC().Format(time.RFC3339)
	}
	in.report.Segments = append(in.report.Segments, r)
	in.parts = append(in.parts, c)
	return eachRelease(c.released, number, func(p position) { released[p.segment] = append(released[p.segment], p.offset) })
}

func (in *inspection) readSegmentIndex(number uint32, size int64) (*segmentIndex, error) {
	f, err := in.fs.Open(indexName(number), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := readIndexHeader(f, number, size)
	if err != nil {
		return nil, err
	}
	c := &segmentIndex{segmentIndexHeader: h}
	c.released, err = h.readReleases(f)
	return c, err
}

// records returns the list of the records of a segment. It is read anew each time: all lists together can be large.
func (in *inspection) records(r *SegmentReport, c *segmentIndex) ([]byte, error) {
	if !r.Indexed {
		return c.recs, nil
	}
	f, err := in.fs.Open(indexName(r.Number), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.readRecords(f)
}

// count adds up the held records of a segment.
func (in *inspection) count(r *SegmentReport, c *segmentIndex, released map[uint32][]uint32) error {
	dead := released[r.Number]
	slices.Sort(dead)
	list, err := in.records(r, c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since, with its segment
	}
	if err != nil {
		r.Indexed = false
		if list, err = in.rescan(r, c); err != nil {
			return err
		}
	}
	err = eachRecord(list, c.end, func(rec indexRecord) error {
		r.Records++
		if _, found := slices.BinarySearch(dead, rec.offset); found {
			return nil
		}
		r.Live++
		r.LiveBytes += int64(rec.bytes)
		in.run(rec)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", indexName(r.Number), err)
	}
	r.DeadBytes = int64(c.end) - r.LiveBytes
	in.report.Records += r.Live
	in.report.LiveBytes += r.LiveBytes
	in.report.DeadBytes += r.DeadBytes
	if in.report.Oldest == "" && r.Live > 0 {
		in.report.Oldest = r.Created
	}
	return nil
}

// rescan scans a segment whose list of records is damaged.
func (in *inspection) rescan(r *SegmentReport, c *segmentIndex) ([]byte, error) {
	f, err := in.fs.Open(segmentName(r.Number), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := scanSegment(f, int64(c.end), r.Number, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", segmentName(r.Number), err)
	}
	c.recs = found.index.recs
	return c.recs, nil
}

func (in *inspection) run(rec indexRecord) {
	run := in.runs[string(rec.key)]
	if run == nil {
		run = &RunReport{Key: string(rec.key)}
		if !printable(rec.key) {
			run.Key, run.KeyHex = "", hex.EncodeToString(rec.key)
		}
		in.runs[string(rec.key)] = run
		in.order = append(in.order, run)
	}
	run.Records++
	run.Bytes += int64(rec.raw)
}

func printable(b []byte) bool {
	for _, c := range string(b) {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// verify reads a segment from its beginning and compares it with its index.
func (in *inspection) verify(r *SegmentReport, last bool) error {
	name := segmentName(r.Number)
	f, err := in.fs.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	c := in.parts[slices.IndexFunc(in.parts, func(c *segmentIndex) bool { return c.number == r.Number })]
	damage := func(format string, args ...any) {
		in.report.Damage = append(in.report.Damage, name+": "+fmt.Sprintf(format, args...))
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	size = min(size, r.Bytes) // of a log in use: what it was when it was listed, or less since it was sealed
	if r.Indexed {
		size = int64(c.end)
	} else if side, err := in.fs.Open(indexName(r.Number), os.O_RDONLY); err == nil {
		_ = side.Close()
		damage("its index is damaged")
	}
	found, err := scanSegment(f, size, r.Number, !last || r.Indexed)
	if errors.Is(err, errUnreadable) {
		if !last || r.Indexed {
			damage("%v", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	in.report.Verified += int64(found.index.entries)
	in.report.VerifiedIn += int64(found.index.end)
	if found.corrupt+found.records > 0 {
		damage("%d damaged frames, %d damaged records", found.corrupt, found.records)
	}
	list, err := in.records(r, c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Indexed && (!bytes.Equal(found.index.recs, list) || !bytes.Equal(found.index.released, c.released)) {
		damage("the index and the segment differ")
	}
	return nil
}
