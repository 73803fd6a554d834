// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

func TestTraceWithRootLeavesAfterTheQuietPeriod(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 2, parent: 1}))
		pass(quiet * 2)
		wantNone(t, d, 0)
		admit(t, m, evidence(1, node{id: 1, run: true}))
		pass(quiet - 500*time.Millisecond)
		wantNone(t, d, 0)
		pass(time.Second)
		e := wantOne(t, d, 0, RootEnded)
		if e.Items != 2 || !e.Complete || e.Key.String() != "acme/00000000000000000000000000000001" {
			t.Errorf("unexpected emission %+v", e)
		}
	})
}

func TestNewItemsRestartTheQuietPeriod(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 1, run: true}))
		for i := byte(2); i < 8; i++ {
			pass(quiet * 3 / 4)
			admit(t, m, evidence(1, node{id: i, parent: 1}))
		}
		wantNone(t, d, 0)
		pass(quiet * 3 / 2)
		if e := wantOne(t, d, 0, RootEnded); e.Items != 7 {
			t.Errorf("%d items, want 7", e.Items)
		}
	})
}

func TestTraceThatNamesAParentWhichHasNotComeWaitsAndIsNotComplete(t *testing.T) {
	run1 := node{id: 2, parent: 1, run: true}
	for name, r := range map[string]Request{
		"calls without their run span":                 {Chunks: []TraceChunk{chunk(1, node{id: 3, parent: 2})}},
		"a run span below a web request":               {Chunks: []TraceChunk{chunk(1, run1, node{id: 3, parent: 2})}},
		"calls of another process than that they name": {Chunks: []TraceChunk{chunk(1, node{id: 3, parent: 2, flags: remoteParent})}},
		"a web request that is not the root": {Chunks: []TraceChunk{chunk(1, run1)},
			Links: []Link{{Key: key(1), ID: spanID(1), Parent: spanID(9)}}},
		"a chain above, in the wrong order": {Chunks: []TraceChunk{chunk(1, node{id: 3, parent: 2})},
			Links: []Link{{Key: key(1), ID: spanID(8), Parent: spanID(9)}, {Key: key(1), ID: spanID(7), Parent: spanID(8)}, {Key: key(1), ID: spanID(2), Parent: spanID(7)}}},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %t", name, crash), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					d := &downstream{}
					l := begin(t, options(d), t.TempDir(), spool.Options{})
					defer func() { l.park() }()
					l.admit(cloneRequest(r))
					if crash {
						l = begin(t, options(d), l.crash(), spool.Options{})
					}
					pass(idle - time.Second)
					wantNone(t, d, 0)
					pass(2 * time.Second)
					if e := wantOne(t, d, 0, Idle); e.Complete {
						t.Error("complete, although a parent that is named has not come: the tag of a replay may stand there")
					}
					// It comes after all.
					l.admit(evidence(1, node{id: 20, parent: 2}, node{id: 2, parent: 0}))
					pass(2 * quiet)
					if e := wantOne(t, d, 1, RootEnded); !e.Complete {
						t.Error("not complete, although the root came")
					}
				})
			})
		}
	}
}

func TestRunWhoseParentIsInAnotherProcessLeavesAfterTheQuietPeriod(t *testing.T) {
	remote := Link{Key: key(1), ID: spanID(1), Parent: spanID(9), Remote: true}
	for name, r := range map[string]Request{
		"the run span names it":          {Chunks: []TraceChunk{chunk(1, node{id: 2, parent: 1, run: true, flags: remoteParent}, node{id: 3, parent: 2})}},
		"the web request above names it": {Chunks: []TraceChunk{chunk(1, node{id: 2, parent: 1, run: true})}, Links: []Link{remote}},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %t", name, crash), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					d := &downstream{}
					l := begin(t, options(d), t.TempDir(), spool.Options{})
					defer func() { l.park() }()
					l.admit(cloneRequest(r))
					if crash {
						l = begin(t, options(d), l.crash(), spool.Options{})
					}
					pass(2 * quiet)
					if e := wantOne(t, d, 0, RootEnded); !e.Complete {
						t.Error("not complete")
					}
				})
			})
		}
	}
}

func TestParentThatOneSpanCallsRemoteAndAnotherDoesNotIsWaitedFor(t *testing.T) {
	for _, nodes := range [][]node{
		{{id: 2, parent: 1, run: true, flags: remoteParent}, {id: 3, parent: 1}},
		{{id: 3, parent: 1}, {id: 2, parent: 1, run: true, flags: remoteParent}},
	} {
		d := &downstream{}
		run(t, options(d), func(m *Assembler) {
			admit(t, m, evidence(1, nodes...))
			pass(2 * quiet)
			wantNone(t, d, 0)
		})
	}
}

func TestCallThatNamesNoParentIsItsOwnRoot(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 3}))
		pass(2 * quiet)
		if e := wantOne(t, d, 0, RootEnded); !e.Complete {
			t.Error("not complete")
		}
	})
}

func TestLinkOfANonAgentSpanFillsTheGap(t *testing.T) {
	for name, sameRequest := range map[string]bool{"same request": true, "later request": false} {
		t.Run(name, func(t *testing.T) {
			d := &downstream{}
			run(t, options(d), func(m *Assembler) {
				r := evidence(1, node{id: 3, parent: 2, run: true})
				links := []Link{{Key: key(1), ID: spanID(1)}, {Key: key(1), ID: spanID(2), Parent: spanID(1)}}
				if sameRequest {
					r.Links = links
					admit(t, m, r)
				} else {
					admit(t, m, r)
					if !m.MayHold(traceID(1)) {
						t.Fatal("an open trace is not reported as held")
					}
					admit(t, m, Request{Links: links})
				}
				pass(2 * quiet)
				if e := wantOne(t, d, 0, RootEnded); !e.Complete || e.Items != 1 {
					t.Errorf("unexpected emission %+v", e)
				}
			})
		})
	}
}

func TestParentlessNonAgentRootEndsATrace(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 3, parent: 2}))
		admit(t, m, Request{Links: []Link{{Key: key(1), ID: spanID(9)}}})
		pass(2 * quiet)
		wantOne(t, d, 0, RootEnded)
	})
}

func TestLinksOfUnknownTracesLeaveNothingBehind(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, Request{Links: []Link{{Key: key(1), ID: spanID(9)}}})
		if s := m.Stats(); s.OpenTraces != 0 || s.HeldBytes != 0 {
			t.Errorf("a link opened a trace: %+v", s)
		}
		if m.MayHold(traceID(1)) {
			t.Error("MayHold is true while nothing is open")
		}
	})
}

func TestEndlessTraceLeavesAtMaxAge(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		for i := range 24 {
			admit(t, m, evidence(1, node{id: byte(10 + i), parent: 1}))
			pass(30 * time.Second)
		}
		if e := d.emissions()[0]; e.Reason != MaxAge || e.Complete {
			t.Errorf("unexpected emission %+v", e)
		}
	})
}

func TestLateSpanIsEmittedWithTheCountOfTheWholeTrace(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1}))
		pass(2 * quiet)
		wantOne(t, d, 0, RootEnded)
		admit(t, m, evidence(1, node{id: 3, parent: 2}))
		pass(2 * quiet)
		e := wantOne(t, d, 1, RootEnded)
		if e.Held != 1 || e.Items != 3 || !e.Complete {
			t.Errorf("unexpected late emission %+v", e)
		}
		if s := m.Stats(); s.Late != 1 {
			t.Errorf("late %d, want 1", s.Late)
		}
		// Redelivered after it left: emitted again, because nobody can tell any more, and not counted as a new item.
		admit(t, m, evidence(1, node{id: 3, parent: 2}))
		pass(2 * quiet)
		if e := wantOne(t, d, 2, RootEnded); e.Items != 3 {
			t.Errorf("%d items after a redelivery, want 3", e.Items)
		}
	})
}

func TestIdenticalRedeliveryVanishes(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		for range 100 {
			admit(t, m, evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1}))
		}
		if s := m.Stats(); s.Accepted != 200 || s.Duplicates != 198 || s.HeldBytes != 2000 {
			t.Errorf("unexpected %+v", s)
		}
		pass(2 * quiet)
		if e := wantOne(t, d, 0, RootEnded); e.Items != 2 || e.Held != 2 {
			t.Errorf("unexpected emission %+v", e)
		}
	})
}

// A sender that repeats a span may list its attributes in another order, which means nothing.
func TestRedeliveryWithAttributesInAnotherOrderVanishes(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		keys := []string{"a", "b", "c"}
		for range 2 {
			r := evidence(1, node{id: 1, run: true})
			rs := r.Chunks[0].Traces.ResourceSpans().At(0)
			for _, key := range keys {
				rs.Resource().Attributes().PutStr(key, key)
				rs.ScopeSpans().At(0).Spans().At(0).Attributes().PutStr(key, key)
			}
			admit(t, m, r)
			slices.Reverse(keys)
		}
		if s := m.Stats(); s.Duplicates != 1 {
			t.Errorf("unexpected %+v", s)
		}
	})
}

func TestOtherPayloadUnderOneSpanIDIsKept(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 1, run: true, payload: "a"}))
		admit(t, m, evidence(1, node{id: 1, run: true, payload: "b"}, node{id: 1, run: true, payload: "a"}))
		pass(2 * quiet)
		if e := wantOne(t, d, 0, RootEnded); e.Items != 2 || e.Held != 2 {
			t.Errorf("unexpected emission %+v", e)
		}
	})
}

func TestHostileIDsNeitherPanicNorHang(t *testing.T) {
	for name, nodes := range map[string][]node{
		"self parent":   {{id: 1, parent: 1, run: true}},
		"cycle":         {{id: 1, parent: 2, run: true}, {id: 2, parent: 1}},
		"no span id":    {{id: 0, parent: 0}, {id: 0, parent: 1}, {id: 0, parent: 0}},
		"repeated id":   {{id: 1, parent: 0}, {id: 1, parent: 0, payload: "x"}, {id: 1, parent: 7}},
		"only children": {{id: 1, parent: 9}, {id: 2, parent: 8}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &downstream{}
			run(t, options(d), func(m *Assembler) {
				admit(t, m, evidence(1, nodes...))
				pass(2 * idle)
				if got := d.emissions(); len(got) != 1 {
					t.Errorf("%d emissions, want 1", len(got))
				}
			})
		})
	}
}

func TestTracesOfTwoTenantsStayApart(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		a, b := chunk(1, node{id: 1, run: true}), chunk(1, node{id: 1, run: true})
		b.Key.Tenant = "other"
		admit(t, m, Request{Chunks: []TraceChunk{a, b}})
		pass(2 * quiet)
		if got := d.emissions(); len(got) != 2 || got[0].Key == got[1].Key {
			t.Errorf("want one emission for each tenant, got %d", len(got))
		}
	})
}

func TestManyRequestsOfOneResourceStayOneResource(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		for i := byte(2); i < 50; i++ {
			admit(t, m, evidence(1, node{id: i, parent: 1}))
		}
		other := chunk(1, node{id: 1, run: true})
		other.Traces.ResourceSpans().At(0).Resource().Attributes().PutStr("service.name", "another")
		admit(t, m, Request{Chunks: []TraceChunk{other}})
		pass(2 * quiet)
		e := wantOne(t, d, 0, RootEnded)
		if n := e.Traces.ResourceSpans().Len(); n != 2 {
			t.Errorf("%d resources, want 2", n)
		}
		if n := e.Traces.ResourceSpans().At(0).ScopeSpans().Len(); n != 1 {
			t.Errorf("%d scopes in the first resource, want 1", n)
		}
	})
}

func TestDeadlinesBeyondTheHorizonOfTheWheelHold(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.QuietPeriod, o.IdleTimeout, o.MaxAge = 80*time.Millisecond, 2*time.Minute, time.Hour
	run(t, o, func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 2, parent: 1}))
		pass(2*time.Minute - time.Second)
		wantNone(t, d, 0)
		pass(2 * time.Second)
		wantOne(t, d, 0, Idle)
	})
}
