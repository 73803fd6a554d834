// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "container/heap"

// lane is the part of the outbox for emissions of one size: large ones wait for room and for workers among themselves.
type lane struct {
	fresh queue
	// again are those whose last attempt failed, as everything does while the store is away. suspects are those that failed while
	// others did not, or were on their way when a process died.
	again, suspects schedule
	// calls are with workers; flying is the room in memory that they may take.
	calls  int
	flying int64
}

// queue holds emissions that were never tried, the first that came first.
type queue struct{ list []*Emission }

func (q *queue) head() *Emission {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

func (q *queue) push(e *Emission) { q.list = append(q.list, e) }

func (q *queue) pop() {
	q.list[0] = nil
	q.list = q.list[1:]
}

// schedule is a heap of emissions by the time of their next attempt.
type schedule []*Emission

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due < s[j].due }
func (s schedule) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(e any)        { *s = append(*s, e.(*Emission)) }

func (s *schedule) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return e
}

func (s schedule) head() *Emission {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

func (s *schedule) push(e *Emission) { heap.Push(s, e) }
func (s *schedule) pop()             { heap.Pop(s) }

// source is where an emission waits.
type source interface {
	head() *Emission
	push(*Emission)
	pop()
}

func (l *lane) empty() bool { return len(l.fresh.list)+len(l.again)+len(l.suspects) == 0 }

// enter puts an emission where it belongs.
func (l *lane) enter(e *Emission) {
	switch {
	case e.suspect():
		l.suspects.push(e)
	case e.failures > 0:
		l.again.push(e)
	default:
		l.fresh.push(e)
	}
}
