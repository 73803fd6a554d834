// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import "sync"

// groupSync makes the files of several writers durable at once. A writer that
// comes while a sync is under way waits for the next one, which serves all that
// have come by then. A sync is one of the whole file system where that is known
// to be as good as a sync of each file and folder. Elsewhere each file and
// folder is synced.
type groupSync struct {
	// whole syncs the file system that holds the deck. It is nil where it must not
	// be relied on. A writer that waits alone syncs only its own files all the
	// same: what others write to the disk is not its concern.
	whole func() error

	mu      sync.Mutex
	busy    bool
	waiting []*syncRequest
}

// syncRequest is one writer that waits.
type syncRequest struct {
	each func() error // syncs what the writer has written, one by one
	turn chan bool    // true: it is this one's turn to sync; false: it is done
	err  error
}

// sync returns when what each would sync is durable.
func (g *groupSync) sync(each func() error) error {
	if g.whole == nil {
		return each()
	}
	r := &syncRequest{each: each, turn: make(chan bool, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	lead := !g.busy
	g.busy = true
	g.mu.Unlock()
	if !lead && !<-r.turn {
		return r.err
	}
	g.mu.Lock()
	group := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	g.syncAll(group)
	for _, other := range group {
		if other != r {
			other.turn <- false
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy = len(g.waiting) > 0; g.busy {
		g.waiting[0].turn <- true
	}
	return r.err
}

func (g *groupSync) syncAll(group []*syncRequest) {
	if len(group) > 1 && g.whole() == nil {
		return
	}
	for _, r := range group {
		r.err = r.each()
	}
}
