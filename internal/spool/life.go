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
	lifeName        = "LIFE"
	lifeMagic       = "tapelif\n"
	lifeHeaderBytes = 32
	noteHeaderBytes = 16
	noteBytes       = noteHeaderBytes + MaxKeyBytes
	// maxNotes bounds what a start reads of a file that may be damaged: more than may be under way in many processes.
	maxNotes = 1 << 14
)

// States of a note.
const (
	noteFree     = 0
	noteUnderway = 1
	noteEnded    = 2 // not under way; kept because processes died with it
)

// Life is what a process leaves to the next one beside the records: how long the log has been in use, and which keys were on their way
// when a process died. Nothing of it is ever synced: the memory of the system outlives the process, which is all that is asked. A power
// loss may lose it, and was caused by no key; then the next start knows less and nothing is wrong. What cannot be written is
// logged once.
type Life struct {
	fs     fileSystem
	logger *zap.Logger

	mu       sync.Mutex
	f        file // nil until something is written
	listened time.Duration
	notes    map[string]*note
	free     []int // places between others
	places   int   // used ones and free
	failed   bool
	closed   bool
}

// note is what is known of a key. Most live for one call.
type note struct {
	place    int
	deaths   int
	underway bool
}

// Life returns what outlives the process.
func (l *Log) Life() *Life { return l.life }

// loadLife reads what the process before left. Damage makes it forget.
func loadLife(fs fileSystem, logger *zap.Logger) *Life {
	l := &Life{fs: fs, logger: logger, notes: map[string]*note{}}
	f, err := fs.Open(lifeName, os.O_RDWR)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.fail(err)
		}
		return l
	}
	var b [noteBytes]byte
	if _, err := f.ReadAt(b[:lifeHeaderBytes], 0); err != nil || string(b[:8]) != lifeMagic || le.Uint32(b[28:]) != checksum(b[:28]) || le.Uint16(b[8:]) != version {
		_ = f.Close()
		if err := fs.Remove(lifeName); err != nil {
			l.fail(err)
		}
		return l
	}
	l.f = f
	l.listened = time.Duration(le.Uint64(b[16:]))
	for ; l.places < maxNotes; l.places++ {
		n, err := f.ReadAt(b[:], l.at(l.places))
		if err != nil && (!errors.Is(err, io.EOF) || n < noteHeaderBytes) {
			break
		}
		key, underway, deaths, ok := parseNote(b[:n])
		if !ok || l.notes[key] != nil {
			l.free = append(l.free, l.places)
			continue
		}
		l.notes[key] = &note{l.places, deaths, underway}
	}
	for key, n := range l.notes {
		if n.underway {
			n.deaths, n.underway = n.deaths+1, false
			l.write(key, n)
		}
	}
	return l
}

func (l *Life) at(place int) int64 { return lifeHeaderBytes + int64(place)*noteBytes }

func parseNote(b []byte) (key string, underway bool, deaths int, ok bool) {
	size := noteHeaderBytes + int(le.Uint16(b[6:]))
	if size > len(b) || le.Uint32(b) != checksum(b[4:size]) || b[4] != noteUnderway && b[4] != noteEnded {
		return "", false, 0, false
	}
	return string(b[noteHeaderBytes:size]), b[4] == noteUnderway, int(le.Uint32(b[8:])), true
}

func encodeNote(key string, state byte, deaths int) []byte {
	b := make([]byte, noteHeaderBytes, noteHeaderBytes+len(key))
	b[4] = state
	le.PutUint16(b[6:], uint16(len(key)))
	le.PutUint32(b[8:], uint32(deaths))
	b = append(b, key...)
	le.PutUint32(b, checksum(b[4:]))
	return b
}

// Listened is the time that processes had the log in use, as far as the last Listen said.
func (l *Life) Listened() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listened
}

// Listen notes the time that processes had the log in use, this one included. It never goes back.
func (l *Life) Listen(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > l.listened {
		l.listened = d
		l.put(l.header(), 0)
	}
}

func (l *Life) header() []byte {
	b := make([]byte, lifeHeaderBytes)
	copy(b, lifeMagic)
	le.PutUint16(b[8:], version)
	le.PutUint64(b[16:], uint64(l.listened))
	le.PutUint32(b[28:], checksum(b[:28]))
	return b
}

// Deaths is how many processes died while the key was on its way.
func (l *Life) Deaths(key []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.notes[string(key)]; n != nil {
		return n.deaths
	}
	return 0
}

// Begin notes that a key is on its way.
func (l *Life) Begin(key []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(key) > MaxKeyBytes {
		return
	}
	n := l.notes[string(key)]
	if n == nil {
		n = &note{place: l.places}
		if last := len(l.free) - 1; last >= 0 {
			n.place, l.free = l.free[last], l.free[:last]
		} else if l.places < maxNotes {
			l.places++
		} else {
			return
		}
		l.notes[string(key)] = n
	}
	n.underway = true
	l.write(string(key), n)
}

// End notes that it is not any more. When it is gone for good, its deaths are forgotten.
func (l *Life) End(key []byte, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.notes[string(key)]
	if n == nil || l.closed {
		return
	}
	n.underway = false
	if gone {
		n.deaths = 0
	}
	l.write(string(key), n)
	l.drop(string(key), n)
}

// drop forgets a note that says nothing.
func (l *Life) drop(key string, n *note) {
	if !n.underway && n.deaths == 0 {
		delete(l.notes, key)
		l.free = append(l.free, n.place)
	}
}

// keep forgets the keys of which nothing is held any more.
func (l *Life) keep(held func(key string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.notes {
		if !held(key) {
			n.deaths = 0
			l.write(key, n)
			l.drop(key, n)
		}
	}
}

func (l *Life) write(key string, n *note) {
	state := byte(noteFree)
	switch {
	case n.underway:
		state = noteUnderway
	case n.deaths > 0:
		state = noteEnded
	}
	l.put(encodeNote(key, state, n.deaths), l.at(n.place))
}

func (l *Life) put(b []byte, at int64) {
	if l.closed || l.failed {
		return
	}
	if l.f == nil {
		f, err := l.fs.Open(lifeName, os.O_CREATE|os.O_RDWR)
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

func (l *Life) fail(err error) {
	l.failed = true
	l.logger.Warn("spool: what outlives the process cannot be written; a run that makes processes die is not recognised, and waiting begins anew after a crash",
		zap.Error(fmt.Errorf("%s: %w", lifeName, err)))
}

// close is the end in order: what is still under way did not die.
func (l *Life) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.notes {
		if n.underway {
			n.underway = false
			l.write(key, n)
		}
	}
	l.closed = true
	if l.f != nil {
		_ = l.f.Close()
	}
}
