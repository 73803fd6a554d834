// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "container/heap"

// sizeClass is the part of the emitQueue for small or for large emissions. Large ones compete for memory and workers among themselves only.
type sizeClass struct {
	// untried are emissions that were never tried.
	untried turnHeap
	// retries are emissions whose last attempt failed, as all do during an outage, until their next attempt
	// is due; again are those that are due. suspects failed while others succeeded, or were in flight when a
	// process crashed.
	retries  retryHeap
	again    turnHeap
	suspects retryHeap
	// calls counts the emissions in flight, inFlight is their memory. working are those that need a worker, workingBytes their evidence.
	calls, working int
	workingBytes   int64
	inFlight       int64
}

// sources are where an emission may be taken from, once wakeUp was called.
func (l *sizeClass) sources() [3]source { return [...]source{&l.untried, &l.again, &l.suspects} }

// wakeUp gives the retries that are due their place in the order of turns.
func (l *sizeClass) wakeUp(now int64) {
	for e := l.retries.head(); e != nil && e.due <= now; e = l.retries.head() {
		l.retries.pop()
		l.again.push(e)
	}
}

// turnHeap is a heap of emissions by their turn.
type turnHeap []*Emission

func (s turnHeap) Len() int           { return len(s) }
func (s turnHeap) Less(i, j int) bool { return s[i].before(s[j]) }
func (s turnHeap) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *turnHeap) Push(e any)        { *s = append(*s, e.(*Emission)) }
func (s *turnHeap) Pop() any          { return popLast((*[]*Emission)(s)) }
func (s turnHeap) head() *Emission    { return headOf(s) }
func (s *turnHeap) push(e *Emission)  { heap.Push(s, e) }
func (s *turnHeap) pop()              { heap.Pop(s) }

// retryHeap is a heap of emissions by the time of their next attempt.
type retryHeap []*Emission

func (s retryHeap) Len() int           { return len(s) }
func (s retryHeap) Less(i, j int) bool { return s[i].due < s[j].due }
func (s retryHeap) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *retryHeap) Push(e any)        { *s = append(*s, e.(*Emission)) }
func (s *retryHeap) Pop() any          { return popLast((*[]*Emission)(s)) }
func (s retryHeap) head() *Emission    { return headOf(s) }
func (s *retryHeap) push(e *Emission)  { heap.Push(s, e) }
func (s *retryHeap) pop()              { heap.Pop(s) }

// popLast gives room back that a backlog has taken.
func popLast(s *[]*Emission) *Emission {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	if *s = (*s)[:last]; cap(*s) > 1024 && last < cap(*s)/4 {
		*s = append(make([]*Emission, 0, cap(*s)/2), *s...)
	}
	return e
}

func headOf(s []*Emission) *Emission {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

// source is where an emission waits.
type source interface {
	head() *Emission
	push(*Emission)
	pop()
	Len() int
}

// add puts an emission where it belongs.
func (l *sizeClass) add(e *Emission) {
	switch {
	case e.suspect():
		l.suspects.push(e)
	case e.failed():
		l.retries.push(e)
	default:
		l.untried.push(e)
	}
}
