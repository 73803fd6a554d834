// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// recover builds the index from the segment indexes. A segment whose index is missing or damaged is scanned and gets a new one. The first
// pass reads which records are dead. The second adds the others, so that no dead record ever takes memory.
func (l *Log) recover(recovered func(Held) error) error {
	numbers, err := l.clean()
	if err != nil {
		return err
	}
	released := map[uint32][]uint32{}
	for _, n := range numbers {
		released[n] = nil
	}
	for i, n := range numbers {
		last := i == len(numbers)-1
		if err := l.load(n, last, released); err != nil {
			return err
		}
	}
	held := map[string]bool{} // of the keys in the process state
	found := func(r Held) error {
		if _, noted := l.state.keys[string(r.Key)]; noted {
			held[string(r.Key)] = true
		}
		if recovered == nil {
			return nil
		}
		return recovered(r)
	}
	for _, s := range l.segments {
		dead := released[s.number]
		slices.Sort(dead)
		if err := l.enter(s, dead, found); err != nil {
			return err
		}
		delete(released, s.number)
	}
	l.state.keep(func(key string) bool { return held[key] })
	return nil
}

// clean removes what a crash has left half done and returns the numbers of the segments in order.
func (l *Log) clean() ([]uint32, error) {
	files, err := l.fs.List()
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	highest := uint32(0)
	for _, f := range files {
		if n, ok := fileNumber(f.name, segmentSuffix); ok {
			highest = max(highest, n)
			if f.regular {
				numbers = append(numbers, n)
			}
		}
		if n, ok := fileNumber(f.name, segmentSuffix+damagedSuffix); ok {
			l.quarantined += f.size
			l.stats.QuarantinedFiles++
			highest = max(highest, n)
		}
	}
	slices.Sort(numbers)
	for _, f := range files {
		n, isIndex := fileNumber(f.name, indexSuffix)
		_, there := slices.BinarySearch(numbers, n)
		_, isTemp := fileNumber(strings.TrimSuffix(f.name, tempSuffix), indexSuffix)
		isTemp = isTemp && strings.HasSuffix(f.name, tempSuffix)
		if isTemp || isIndex && !there {
			if err := l.fs.Remove(f.name); err != nil {
				l.o.Logger.Warn("spool: cannot remove a leftover", zap.String("file", f.name), zap.Error(err))
			}
		}
	}
	l.nextNumber = highest + 1
	return numbers, nil
}

// load adds a segment, and collects the records that it releases.
func (l *Log) load(number uint32, last bool, released map[uint32][]uint32) error {
	h, size, releases, err := l.readReleases(number)
	if errors.As(err, new(errVersion)) {
		return fmt.Errorf("%s: %w", indexName(number), err)
	}
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.o.Logger.Warn("spool: the index of a segment is damaged and written again", zap.String("file", indexName(number)), zap.Error(err))
		}
		c, err := l.rescan(number, last)
		if err != nil || c == nil {
			return err
		}
		h, releases = c.segmentIndexHeader, c.released
		h.releaseSize, h.recSize = uint32(len(c.released)), uint32(len(c.recs))
		size = int64(c.end)
	}
	err = eachRelease(releases, number, func(p position) {
		if dead, ok := released[p.segment]; ok {
			released[p.segment] = append(dead, p.offset)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", indexName(number), err)
	}
	l.segments = append(l.segments, &segment{
		segmentHeader: h.segmentHeader, size: size, end: h.end, sealed: true, damaged: h.damaged, indexFileBytes: h.bytes(),
	})
	l.logBytes += int64(h.end)
	return nil
}

// readReleases reads the first list of a segment index.
func (l *Log) readReleases(number uint32) (h segmentIndexHeader, size int64, releases []byte, err error) {
	s, err := l.fs.Open(segmentName(number), os.O_RDONLY)
	if err != nil {
		return h, 0, nil, err
	}
	defer s.Close()
	if size, err = s.Size(); err != nil {
		return h, 0, nil, err
	}
	f, err := l.fs.Open(indexName(number), os.O_RDONLY)
	if err != nil {
		return h, size, nil, err
	}
	defer f.Close()
	if h, err = readIndexHeader(f, number, size); err != nil {
		return h, size, nil, err
	}
	releases, err = h.readReleases(f)
	return h, size, releases, err
}

func readIndexHeader(f file, number uint32, segmentSize int64) (segmentIndexHeader, error) {
	size, err := f.Size()
	if err != nil {
		return segmentIndexHeader{}, err
	}
	b := make([]byte, min(size, indexHeaderBytes))
	if _, err := f.ReadAt(b, 0); err != nil {
		return segmentIndexHeader{}, err
	}
	return parseIndexHeader(b, size, number, segmentSize)
}

// enter puts the live records of a segment into the index.
func (l *Log) enter(s *segment, dead []uint32, recovered func(Held) error) error {
	h, list, err := l.readList(s)
	if err != nil {
		l.o.Logger.Warn("spool: the index of a segment is damaged and written again", zap.String("file", s.indexName()), zap.Error(err))
		c, err := l.rescan(s.number, false)
		if err != nil {
			return err
		}
		if c == nil {
			return fmt.Errorf("%s: gone since it was listed", s.name())
		}
		h, list = c.segmentIndexHeader, c.recs
		s.damaged = s.damaged || c.damaged
	}
	s.slots = make([]uint32, 0, max(0, int(min(h.entries, s.end/recordHeaderBytes))-len(dead)))
	return eachRecord(list, h.end, func(r indexRecord) error {
		for len(dead) > 0 && dead[0] < r.offset {
			dead = dead[1:]
		}
		if len(dead) > 0 && dead[0] == r.offset {
			return nil
		}
		i := l.index.add(position{s.number, r.offset}, int(r.bytes))
		s.own(i, int64(r.bytes))
		l.liveBytes += int64(r.bytes)
		l.stats.Recovered++
		return recovered(Held{ID: l.index.id(i), Key: r.key, Meta: r.meta, Bytes: int64(r.raw)})
	})
}

func (l *Log) readList(s *segment) (segmentIndexHeader, []byte, error) {
	f, err := l.fs.Open(s.indexName(), os.O_RDONLY)
	if err != nil {
		return segmentIndexHeader{}, nil, err
	}
	defer f.Close()
	h, err := readIndexHeader(f, s.number, max(s.size, int64(s.end)))
	if err != nil {
		return h, nil, err
	}
	list, err := h.readRecords(f)
	return h, list, err
}

// rescan reads a segment that has no valid index, cuts its torn end if it is the last, and writes the index. It returns nil when the file
// held nothing and was removed.
func (l *Log) rescan(number uint32, last bool) (*segmentIndex, error) {
	name := segmentName(number)
	f, err := l.fs.Open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	found, err := scanSegment(f, size, number, !last)
	if errors.Is(err, errUnreadable) {
		return nil, l.discard(f, name, size)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := found.index
	if found.corrupt+found.records+found.torn > 0 {
		l.o.Logger.Warn("spool: damage in a segment", zap.String("file", name), zap.Int64("frames", found.corrupt),
			zap.Int64("records", found.records), zap.Int64("cut_bytes", found.torn))
	}
	l.stats.CorruptFrames += found.corrupt
	l.stats.CorruptRecords += found.records
	l.stats.TruncatedBytes += found.torn
	if size > int64(c.end) {
		if err := f.Truncate(int64(c.end)); err != nil {
			return nil, err
		}
	}
	if last && c.entries+c.releases == 0 && !c.damaged {
		_ = f.Close() // an open file cannot be removed everywhere
		return nil, l.fs.Remove(name)
	}
	// The records that were read may still lie in the memory of the system only.
	if err := f.Sync(); err != nil {
		return nil, err
	}
	l.stats.IndexesRewritten++
	if err := writeSegmentIndex(l.fs, c); err != nil {
		l.o.Logger.Warn("spool: the index of a segment cannot be written; the next start scans the segment", zap.String("segment", name), zap.Error(err))
	}
	return c, nil
}

// discard deals with a file that has no header. One that was being created holds nothing else and is removed; any other is quarantined.
func (l *Log) discard(f file, name string, size int64) error {
	w := &window{f: f, size: size}
	used, err := w.used(segmentHeaderBytes)
	if err != nil {
		return err
	}
	_ = f.Close()
	if used == 0 {
		return l.fs.Remove(name)
	}
	l.o.Logger.Error("spool: a segment cannot be read and is quarantined", zap.String("file", name+damagedSuffix))
	l.stats.CorruptFrames++
	l.stats.QuarantinedFiles++
	l.quarantined += size
	_ = l.fs.Remove(strings.TrimSuffix(name, segmentSuffix) + indexSuffix)
	return l.fs.Rename(name, name+damagedSuffix)
}
