// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	processStateName        = "LIFE"
	processStateMagic       = "tapelif\n"
	processStateHeaderBytes = 32
	inFlightHeaderBytes     = 16
	inFlightBytes           = inFlightHeaderBytes + MaxKeyBytes
	// maxInFlight bounds what a start reads of a file that may be damaged: more keys than many processes have in flight.
	maxInFlight = 1 << 14
)

// States of an inFlight entry.
const (
	stateFree     = 0
	stateInFlight = 1
	stateCrashed  = 2 // not in flight; kept because processes crashed with it
)

// ProcessState is what a process leaves to the next one beside the records. It tells how long the log has been in use, and which keys were
// in flight when a process crashed. It is never synced, because the page cache outlives the process. A power loss may lose it. No key
// caused the power loss, so nothing is wrong then; the next start only knows less. A failed write is logged once.
type ProcessState struct {
	fs     fileSystem
	logger *zap.Logger

	mu     sync.Mutex
	f      file // nil until something is written
	uptime time.Duration
	keys   map[string]*inFlight
	free   []int // unused slots below slots
	slots  int   // how many slots the file has
	failed bool
	closed bool
}

// inFlight is what is known of a key. Most entries exist for one call.
type inFlight struct {
	slot    int
	crashes int
	active  bool
}

// ProcessState returns what outlives the process beside the records.
func (l *Log) ProcessState() *ProcessState { return l.state }

// loadProcessState reads what the previous process left. A damaged file is removed, damaged entries are skipped.
func loadProcessState(fs fileSystem, logger *zap.Logger) *ProcessState {
	l := &ProcessState{fs: fs, logger: logger, keys: map[string]*inFlight{}}
	f, err := fs.Open(processStateName, os.O_RDWR)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.fail(err)
		}
		return l
	}
	var b [inFlightBytes]byte
	if _, err := f.ReadAt(b[:processStateHeaderBytes], 0); err != nil || string(b[:8]) != processStateMagic || le.Uint32(b[28:]) != checksum(b[:28]) || le.Uint16(b[8:]) != version {
		_ = f.Close()
		if err := fs.Remove(processStateName); err != nil {
			l.fail(err)
		}
		return l
	}
	l.f = f
	l.uptime = time.Duration(le.Uint64(b[16:]))
	for ; l.slots < maxInFlight; l.slots++ {
		n, err := f.ReadAt(b[:], l.at(l.slots))
		if err != nil && (!errors.Is(err, io.EOF) || n < inFlightHeaderBytes) {
			break
		}
		key, active, crashes, ok := parseInFlight(b[:n])
		if !ok || l.keys[key] != nil {
			l.free = append(l.free, l.slots)
			continue
		}
		l.keys[key] = &inFlight{l.slots, crashes, active}
	}
	for key, n := range l.keys {
		if n.active {
			n.crashes, n.active = n.crashes+1, false
			l.write(key, n)
		}
	}
	return l
}

func (l *ProcessState) at(slot int) int64 { return processStateHeaderBytes + int64(slot)*inFlightBytes }

func parseInFlight(b []byte) (key string, active bool, crashes int, ok bool) {
	size := inFlightHeaderBytes + int(le.Uint16(b[6:]))
	if size > len(b) || le.Uint32(b) != checksum(b[4:size]) || b[4] != stateInFlight && b[4] != stateCrashed {
		return "", false, 0, false
	}
	return string(b[inFlightHeaderBytes:size]), b[4] == stateInFlight, int(le.Uint32(b[8:])), true
}

func encodeInFlight(key string, state byte, crashes int) []byte {
	b := make([]byte, inFlightHeaderBytes, inFlightHeaderBytes+len(key))
	b[4] = state
	le.PutUint16(b[6:], uint16(len(key)))
	le.PutUint32(b[8:], uint32(crashes))
	b = append(b, key...)
	le.PutUint32(b, checksum(b[4:]))
	return b
}

// Uptime is the time that processes had the log in use, as far as the last Listen said.
func (l *ProcessState) Uptime() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.uptime
}

// RecordUptime stores the time that processes had the log in use, this one included. It never decreases.
func (l *ProcessState) RecordUptime(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > l.uptime {
		l.uptime = d
		l.put(l.header(), 0)
	}
}

func (l *ProcessState) header() []byte {
	b := make([]byte, processStateHeaderBytes)
	copy(b, processStateMagic)
	le.PutUint16(b[8:], version)
	le.PutUint64(b[16:], uint64(l.uptime))
	le.PutUint32(b[28:], checksum(b[:28]))
	return b
}

// Crashes is how many processes crashed while the key was in flight.
func (l *ProcessState) Crashes(key []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.keys[string(key)]; n != nil {
		return n.crashes
	}
	return 0
}

// Begin stores that a key is in flight.
func (l *ProcessState) Begin(key []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(key) > MaxKeyBytes {
		return
	}
	n := l.keys[string(key)]
	if n == nil {
		n = &inFlight{slot: l.slots}
		if last := len(l.free) - 1; last >= 0 {
			n.slot, l.free = l.free[last], l.free[:last]
		} else if l.slots < maxInFlight {
			l.slots++
		} else {
			return
		}
		l.keys[string(key)] = n
	}
	n.active = true
	l.write(string(key), n)
}

// End stores that a key is no longer in flight. When it is gone for good, its crashes are forgotten.
func (l *ProcessState) End(key []byte, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.keys[string(key)]
	if n == nil || l.closed {
		return
	}
	n.active = false
	if gone {
		n.crashes = 0
	}
	l.write(string(key), n)
	l.drop(string(key), n)
}

// drop removes an entry without information.
func (l *ProcessState) drop(key string, n *inFlight) {
	if !n.active && n.crashes == 0 {
		delete(l.keys, key)
		l.free = append(l.free, n.slot)
	}
}

// keep forgets the keys of which nothing is held any more.
func (l *ProcessState) keep(held func(key string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.keys {
		if !held(key) {
			n.crashes = 0
			l.write(key, n)
			l.drop(key, n)
		}
	}
}

func (l *ProcessState) write(key string, n *inFlight) {
	state := byte(stateFree)
	switch {
	case n.active:
		state = stateInFlight
	case n.crashes > 0:
		state = stateCrashed
	}
	l.put(encodeInFlight(key, state, n.crashes), l.at(n.slot))
}

func (l *ProcessState) put(b []byte, at int64) {
	if l.closed || l.failed {
		return
	}
	if l.f == nil {
		f, err := l.fs.Open(processStateName, os.O_CREATE|os.O_RDWR)
		if err == nil {
			l.f = f
			_, err = f.WriteAt(l.header(), 0)
		}
		if err != nil {
			l.fail(err)
			return
		}
	}
	if _, err := l.f.WriteAt(b, at); err != nil {
		l.fail(err)
	}
}

func (l *ProcessState) fail(err error) {
	l.failed = true
	l.logger.Warn("spool: the process state cannot be written; a run that makes processes crash is not recognised, and waiting times begin anew after a crash",
		zap.Error(fmt.Errorf("%s: %w", processStateName, err)))
}

// close is the end of an orderly stop. A key that is still in flight then did not crash.
func (l *ProcessState) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.keys {
		if n.active {
			n.active = false
			l.write(key, n)
		}
	}
	l.closed = true
	if l.f != nil {
		_ = l.f.Close()
	}
}
