// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"sync"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// tagMemory remembers the tags of traces of which the deck holds nothing: a tag on a web request is no
// evidence, and most of these requests have nothing to do with an agent. Evidence that comes later gets them.
// It holds between half of its limit and its limit.
type tagMemory struct {
	mu               sync.Mutex
	half             int
	recent, previous map[groupKey]string // as segregation.Tags writes them
}

const (
	// rememberedTags takes some 20 MB when it is full.
	rememberedTags = 1 << 16
	// maxRememberedIDs of one trace are more than a replay has.
	maxRememberedIDs = 4
)

func newTagMemory() *tagMemory {
	return &tagMemory{half: rememberedTags / 2, recent: map[groupKey]string{}}
}

func (m *tagMemory) tagsOf(key groupKey) segregation.Tags {
	m.mu.Lock()
	defer m.mu.Unlock()
	return segregation.ParseTags(m.lookup(key))
}

func (m *tagMemory) lookup(key groupKey) string {
	if tags, ok := m.recent[key]; ok {
		return tags
	}
	return m.previous[key]
}

func (m *tagMemory) add(key groupKey, tags segregation.Tags) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := segregation.ParseTags(m.lookup(key))
	all.Merge(tags)
	if len(all.IDs)+len(all.Of) > maxRememberedIDs { // the smallest one says where the run lies
		all = segregation.Tags{IDs: all.IDs[:min(1, len(all.IDs))], Malformed: true, Marked: all.Marked}
	}
	if len(m.recent) >= m.half {
		m.previous, m.recent = m.recent, make(map[groupKey]string, m.half)
	}
	m.recent[key] = all.String()
}
