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

// recover builds the index from the sidecars; a segment that has none, or a damaged one, is scanned and gets one. The first pass reads
// which records are dead, the second enters those that are not: no dead record ever takes memory.
func (l *Log) recover(recovered func(Held) error) error {
	numbers, err := l.clean()
	if err != nil {
		return err
	}
	killed := map[uint32][]uint32{}
	for _, n := range numbers {
		killed[n] = nil
	}
	for i, n := range numbers {
		last := i == len(numbers)-1
		if err := l.load(n, last, killed); err != nil {
			return err
		}
	}
	held := map[string]bool{} // of the keys that have a note
	found := func(r Held) error {
		if _, noted := l.life.notes[string(r.Key)]; noted {
			held[string(r.Key)] = true
		}
		if recovered == nil {
			return nil
		}
		return recovered(r)
	}
	for _, s := range l.segments {
		dead := killed[s.number]
		slices.Sort(dead)
		if err := l.enter(s, dead, found); err != nil {
			return err
		}
		delete(killed, s.number)
	}
	l.life.keep(func(key string) bool { return held[key] })
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
			l.setAside += f.size
			l.stats.QuarantinedFiles++
			highest = max(highest, n)
		}
	}
	slices.Sort(numbers)
	for _, f := range files {
		n, isSidecar := fileNumber(f.name, sidecarSuffix)
		_, there := slices.BinarySearch(numbers, n)
		_, isTemp := fileNumber(strings.TrimSuffix(f.name, tempSuffix), sidecarSuffix)
		isTemp = isTemp && strings.HasSuffix(f.name, tempSuffix)
		if isTemp || isSidecar && !there {
			if err := l.fs.Remove(f.name); err != nil {
				l.o.Logger.Warn("spool: cannot remove a leftover", zap.String("file", f.name), zap.Error(err))
			}
		}
	}
	l.nextNumber = highest + 1
	return numbers, nil
}

// load notes a segment and what it kills.
func (l *Log) load(number uint32, last bool, killed map[uint32][]uint32) error {
	h, size, kills, err := l.readKills(number)
	if errors.As(err, new(errVersion)) {
		return fmt.Errorf("%s: %w", sidecarName(number), err)
	}
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.o.Logger.Warn("spool: a sidecar is damaged and written again", zap.String("file", sidecarName(number)), zap.Error(err))
		}
		c, err := l.rescan(number, last)
		if err != nil || c == nil {
			return err
		}
		h, kills = c.sidecarHeader, c.killed
		h.killSize, h.recSize = uint32(len(c.killed)), uint32(len(c.recs))
		size = int64(c.end)
	}
	err = eachKill(kills, number, func(p position) {
		if dead, ok := killed[p.segment]; ok {
			killed[p.segment] = append(dead, p.offset)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", sidecarName(number), err)
	}
	l.segments = append(l.segments, &segment{
		segmentHeader: h.segmentHeader, size: size, end: h.end, sealed: true, damaged: h.damaged, sidecarBytes: h.bytes(),
	})
	l.logBytes += int64(h.end)
	return nil
}

// readKills reads the first part of a sidecar.
func (l *Log) readKills(number uint32) (h sidecarHeader, size int64, kills []byte, err error) {
	s, err := l.fs.Open(segmentName(number), os.O_RDONLY)
	if err != nil {
		return h, 0, nil, err
	}
	defer s.Close()
	if size, err = s.Size(); err != nil {
		return h, 0, nil, err
	}
	f, err := l.fs.Open(sidecarName(number), os.O_RDONLY)
	if err != nil {
		return h, size, nil, err
	}
	defer f.Close()
	if h, err = readSidecarHeader(f, number, size); err != nil {
		return h, size, nil, err
	}
	kills, err = h.readKills(f)
	return h, size, kills, err
}

func readSidecarHeader(f file, number uint32, segmentSize int64) (sidecarHeader, error) {
	size, err := f.Size()
	if err != nil {
		return sidecarHeader{}, err
	}
	b := make([]byte, min(size, sidecarHeaderBytes))
	if _, err := f.ReadAt(b, 0); err != nil {
		return sidecarHeader{}, err
	}
	return parseSidecarHeader(b, size, number, segmentSize)
}

// enter puts the live records of a segment into the index.
func (l *Log) enter(s *segment, dead []uint32, recovered func(Held) error) error {
	h, list, err := l.readList(s)
	if err != nil {
		l.o.Logger.Warn("spool: a sidecar is damaged and written again", zap.String("file", s.sidecar()), zap.Error(err))
		c, err := l.rescan(s.number, false)
		if err != nil {
			return err
		}
		if c == nil {
			return fmt.Errorf("%s: gone since it was listed", s.name())
		}
		h, list = c.sidecarHeader, c.recs
		s.damaged = s.damaged || c.damaged
	}
	s.slots = make([]uint32, 0, max(0, int(min(h.entries, s.end/recordHeaderBytes))-len(dead)))
	return eachRecord(list, h.end, func(r sidecarRecord) error {
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

func (l *Log) readList(s *segment) (sidecarHeader, []byte, error) {
	f, err := l.fs.Open(s.sidecar(), os.O_RDONLY)
	if err != nil {
		return sidecarHeader{}, nil, err
	}
	defer f.Close()
	h, err := readSidecarHeader(f, s.number, max(s.size, int64(s.end)))
	if err != nil {
		return h, nil, err
	}
	list, err := h.readRecords(f)
	return h, list, err
}

// rescan reads a segment that has no good sidecar, cuts its torn end if it is the last, and writes the sidecar. It returns nil when
// there is nothing to keep the file for.
func (l *Log) rescan(number uint32, last bool) (*sidecar, error) {
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
	c := found.sidecar
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
	if last && c.entries+c.kills == 0 && !c.damaged {
		_ = f.Close() // an open file cannot be removed everywhere
		return nil, l.fs.Remove(name)
	}
	// What was read may still lie in the memory of the system only.
	if err := f.Sync(); err != nil {
		return nil, err
	}
	l.stats.SidecarsRewritten++
	if err := writeSidecar(l.fs, c); err != nil {
		l.o.Logger.Warn("spool: a segment has no sidecar; the next start scans it", zap.String("segment", name), zap.Error(err))
	}
	return c, nil
}

// discard deals with a file that has no header: one that was being created has nothing behind it, anything else is moved aside.
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
	l.o.Logger.Error("spool: a segment cannot be read and is moved aside", zap.String("file", name+damagedSuffix))
	l.stats.CorruptFrames++
	l.stats.QuarantinedFiles++
	l.setAside += size
	_ = l.fs.Remove(strings.TrimSuffix(name, segmentSuffix) + sidecarSuffix)
	return l.fs.Rename(name, name+damagedSuffix)
}
