// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "sync"

const (
	// rememberedNodes is how many span ids of emitted traces all shards together remember, at about 30 bytes each. With them, a late span
	// finds its parent and the number of items stays true. They are enough for the last 37,000 traces of 20 spans.
	rememberedNodes = 1 << 20
	// rememberedTrace is what a remembered trace costs beside its span ids, in the same unit.
	rememberedTrace = 8
)

// recentTraces remembers traces that were emitted. When nodes exceeds maxNodes, it forgets the traces that were emitted first. Shards and
// workers use it, so it has a lock: what is known of a trace in the spool is complete only when a worker has read it back.
type recentTraces struct {
	mu       sync.Mutex
	traces   map[Key]past
	forget   []Key
	nodes    int
	maxNodes int
}

func newRecentTraces(maxNodes int) *recentTraces {
	return &recentTraces{traces: map[Key]past{}, maxNodes: maxNodes}
}

func (m *recentTraces) remember(k Key, p past) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.traces[k]; ok {
		m.nodes -= old.weight()
	}
	m.traces[k] = p
	m.nodes += p.weight()
	m.forget = append(m.forget, k)
	for m.nodes > m.maxNodes || len(m.forget) > 2*len(m.traces)+1 {
		oldest := m.forget[0]
		m.forget = m.forget[1:]
		// A trace that was opened again stands twice in the list; forgetting it early is harmless.
		if gone, ok := m.traces[oldest]; ok {
			delete(m.traces, oldest)
			m.nodes -= gone.weight()
		}
	}
}

// recall takes what is known of a trace; the trace is open again and knows it itself.
func (m *recentTraces) recall(k Key) (past, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.traces[k]
	if ok {
		delete(m.traces, k)
		m.nodes -= p.weight()
	}
	return p, ok
}
