// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
)

// store writes chunks to the spool and reads them back.
type store struct {
	spool    Spool
	counters *counters
	logger   *zap.Logger
	marshal  ptrace.ProtoMarshaler
	// before is how long earlier processes had the spool in use.
	before time.Duration
}

// uptime is how long processes had the spool in use at a time of this one (as monotonicClock.now). It is never 0, which is "not known".
func (s *store) uptime(now int64) time.Duration { return max(s.before+time.Duration(now), 1) }

// batch is what one request appends.
type batch struct {
	entries []spool.Entry
	ids     []spool.ID
	headers []byte
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) reset() {
	clear(b.entries)
	b.entries, b.ids, b.headers = b.entries[:0], b.ids[:0], b.headers[:0]
}

func (b *batch) add(k Key, h *header) *spool.Entry {
	start := len(b.headers)
	b.headers = h.append(b.headers)
	b.entries = append(b.entries, spool.Entry{Key: k.bytes(), Meta: b.headers[start:len(b.headers):len(b.headers)]})
	b.ids = append(b.ids, 0)
	return &b.entries[len(b.entries)-1]
}

// append makes a request durable and names its records.
func (s *store) append(ctx context.Context, r *shardRequest, w monotonicClock) error {
	now, uptime := w.clock.Now(), s.uptime(w.now())
	b := batches.Get().(*batch)
	defer func() {
		b.reset()
		batches.Put(b)
	}()
	for i := range r.chunks {
		f := &r.chunks[i]
		h := header{items: f.Items, bytes: f.Bytes, arrived: now, uptime: uptime, links: f.links}
		if f.RunSpan {
			h.flags |= flagRunSpan
		}
		if hasRoot(f.Traces) || anyRoot(f.links) {
			h.flags |= flagRoot
		}
		e := b.add(f.Key, &h)
		if e.Message = messageOf(f.Traces); e.Message == nil {
			var err error
			if e.Payload, err = s.marshal.MarshalTraces(f.Traces); err != nil {
				return fmt.Errorf("encode evidence of %s: %w", f.Key, err)
			}
		}
	}
	for _, l := range r.links {
		h := header{arrived: now, uptime: uptime, links: l.links}
		if anyRoot(l.links) {
			h.flags |= flagRoot
		}
		b.add(l.key, &h)
	}
	// A request that is cancelled while its records are written would leave records that no trace refers to.
	if err := s.spool.Append(context.WithoutCancel(ctx), b.entries, b.ids); err != nil {
		return err
	}
	for i := range r.chunks {
		r.chunks[i].id = b.ids[i]
	}
	for i := range r.links {
		r.links[i].id = b.ids[len(r.chunks)+i]
	}
	return nil
}

func anyRoot(links []edge) bool {
	for _, l := range links {
		if l.parent.IsEmpty() {
			return true
		}
	}
	return false
}

// release releases records. When that fails they come back with the next start, and their emission changes nothing in the deck.
func (s *store) release(ids []spool.ID) {
	if err := s.spool.Release(ids); err != nil {
		s.counters.releaseErrors.Add(1)
		s.logger.Warn("records of the spool could not be released; the next start emits them again", zap.Int("records", len(ids)), zap.Error(err))
	}
}

// probeBytes is the size up to which a shard reads back a trace to find out whether it has ended. Larger traces wait for the idle
// timeout, because reading them would block the shard.
const probeBytes = 4 << 20

// probe reads the span ids of a trace back, for the question whether every parent that is named has come.
func (s *shard) probe(t *openTrace) {
	t.probed = true
	t.probes++
	if t.bytes > probeBytes {
		return
	}
	key := t.key.key()
	td, links, _, err := s.store.read(key, t.records[:t.cold], &t.past)
	if err != nil {
		s.o.Logger.Warn("the spool could not be asked whether a run has ended; the idle timeout decides", zap.Error(err))
		return
	}
	p, remembered := s.recent.recall(key)
	if !remembered {
		p.nodes = make(map[pcommon.SpanID]presence, t.items)
	}
	p.distinct += p.allCame(td)
	if t.warm != nil {
		p.distinct += p.allCame(t.traces)
	}
	p.allLinked(links)
	if remembered {
		s.recent.remember(key, p)
	}
	t.whole = p.wanted == 0
}

// load reads back what an emission does not have in memory. Then it computes what needs the whole evidence: which spans are duplicates, how
// many distinct spans there are, and whether a root is missing.
func (s *store) load(e *Emission) error {
	said := e.past
	whole, links, damaged, err := s.read(e.Key, e.records[:e.cold], &said)
	if err != nil {
		return err
	}
	e.damaged = damaged > 0
	if e.Traces != (ptrace.Traces{}) {
		merge(whole, e.Traces)
	}
	removeRepeated(whole)
	e.Traces, e.Held, e.cold = whole, whole.SpanCount(), 0
	s.counters.memory.Add(e.bytes - e.inMemory)
	s.counters.loaded.Add(1)
	e.inMemory = e.bytes
	if e.remember == nil {
		return nil
	}
	p, remembered := e.remember.recall(e.Key)
	if !remembered {
		p.nodes = make(map[pcommon.SpanID]presence, e.Held)
	}
	fresh := p.allCame(whole)
	if !remembered {
		fresh = int32(e.Held)
	}
	p.distinct += fresh
	p.allLinked(links)
	p.noteAll(said)
	e.Items, e.Complete = int(p.distinct), p.complete()
	e.remember.remember(e.Key, p)
	e.remember = nil
	return nil
}

// read returns the evidence and the links of records, and adds to p what their headers say. Damaged records are logged and left out;
// damaged counts them.
func (s *store) read(k Key, ids []spool.ID, p *past) (td ptrace.Traces, links []edge, damaged int, err error) {
	td = ptrace.NewTraces()
	err = s.spool.Read(ids, func(_ int, meta, payload []byte) error {
		h, err := parseHeader(meta)
		if err == nil && len(payload) > 0 {
			var part ptrace.Traces
			if part, err = nesting.UnmarshalTraces(payload); err == nil {
				merge(td, part)
			}
		}
		if err != nil {
			damaged++
			s.logger.Error("evidence is lost: a record of the spool cannot be decoded", zap.Stringer("run_key", k), zap.Error(err))
			return nil
		}
		p.note(h.flags)
		links = append(links, h.links...)
		return nil
	})
	var corrupt *spool.CorruptError
	if errors.As(err, &corrupt) {
		damaged += len(corrupt.IDs)
		s.logger.Error("evidence is lost: records of the spool are damaged", zap.Stringer("run_key", k), zap.Error(err))
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read evidence of %s from the spool: %w", k, err)
	}
	return td, links, damaged, err
}
