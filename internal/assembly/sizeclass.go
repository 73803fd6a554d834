// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "container/heap"

// sizeClass is the part of the emitQueue for small or for large emissions. Large ones compete for memory and workers among themselves only.
type sizeClass struct {
	untried fifo
	// retries are emissions whose last attempt failed, as all do during an outage. suspects failed while others succeeded, or were in flight
	// when a process crashed.
	retries, suspects retryHeap
	// calls counts the emissions in flight, inFlight is their memory. working are those that need a worker, workingBytes their evidence.
	calls, working int
	workingBytes   int64
	inFlight       int64
}

// fifo holds emissions that were never tried, in the order in which they came.
type fifo struct{ list []*Emission }

func (q *fifo) head() *Emission {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

func (q *fifo) push(e *Emission) { q.list = append(q.list, e) }

func (q *fifo) pop() {
	q.list[0] = nil
	q.list = q.list[1:]
}

// retryHeap is a heap of emissions by the time of their next attempt.
type retryHeap []*Emission

func (s retryHeap) Len() int           { return len(s) }
func (s retryHeap) Less(i, j int) bool { return s[i].due < s[j].due }
func (s retryHeap) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *retryHeap) Push(e any)        { *s = append(*s, e.(*Emission)) }

func (s *retryHeap) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return e
}

func (s retryHeap) head() *Emission {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

func (s *retryHeap) push(e *Emission) { heap.Push(s, e) }
func (s *retryHeap) pop()             { heap.Pop(s) }

// source is where an emission waits.
type source interface {
	head() *Emission
	push(*Emission)
	pop()
}

// add puts an emission where it belongs.
func (l *sizeClass) add(e *Emission) {
	switch {
	case e.suspect():
		l.suspects.push(e)
	case e.failures > 0:
		l.retries.push(e)
	default:
		l.untried.push(e)
	}
}
