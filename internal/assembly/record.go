// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A record of the spool is one chunk. Its key is the trace id (16 bytes) and the tenant. Its payload is an OTLP TracesData message, which is
// empty when the record holds links only. Its header is
//
//	version   byte, 2; 1 has no uptime and is still read
//	flags     byte
//	items     uvarint, spans in the payload
//	bytes     uvarint, as accounted
//	arrived   int64, little endian, Unix nanoseconds
//	uptime    uvarint, nanoseconds that processes had the spool in use until then
//	links     uvarint, then 16 bytes for each: span id, parent id; with the flag "remote" a byte more, 1 when the parent is a span of
//	          another process
//
// A start reads headers only. They hold all that is needed of a trace until it is emitted. Idle time is measured in uptime and not in
// time of day, because nothing can be received while no process runs.

const (
	recordVersion = 2
	firstVersion  = 1
)

const (
	flagRunSpan = 1 << iota // the span of an agent run is among them
	_                       // was: some always lie below the span of an agent run
	flagRoot                // a span without a parent is among them, or among the links
	flagRemote              // links have a byte more
)

// maxLinks is how many links one record takes: spool.MaxMetaBytes bounds the header.
const maxLinks = 200

// header is the header of a record.
type header struct {
	flags   byte
	items   int
	bytes   int64
	arrived time.Time
	// uptime is 0 when it is not known.
	uptime time.Duration
	links  []edge
}

// edge is a span and its parent.
type edge struct {
	id, parent pcommon.SpanID
	remote     bool // the parent is a span of another process
}

// linkBytes is what a link takes in a header with these flags.
func linkBytes(flags byte) int {
	if flags&flagRemote != 0 {
		return 17
	}
	return 16
}

var errHeader = errors.New("malformed header of a spool record")

func (h *header) append(dst []byte) []byte {
	flags := h.flags
	if slices.ContainsFunc(h.links, func(l edge) bool { return l.remote }) {
		flags |= flagRemote
	}
	dst = append(dst, recordVersion, flags)
	dst = binary.AppendUvarint(dst, uint64(h.items))
	dst = binary.AppendUvarint(dst, uint64(h.bytes))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.arrived.UnixNano()))
	dst = binary.AppendUvarint(dst, uint64(h.uptime))
	dst = binary.AppendUvarint(dst, uint64(len(h.links)))
	for _, l := range h.links {
		dst = append(dst, l.id[:]...)
		dst = append(dst, l.parent[:]...)
		switch {
		case l.remote:
			dst = append(dst, 1)
		case flags&flagRemote != 0:
			dst = append(dst, 0)
		}
	}
	return dst
}

// parseHeader fails for a version that it does not know: what follows may mean anything.
func parseHeader(raw []byte) (header, error) {
	var h header
	if len(raw) < 2 {
		return h, errHeader
	}
	version := raw[0]
	if version < firstVersion || version > recordVersion {
		return h, fmt.Errorf("%w: version %d, this program reads up to %d", errHeader, version, recordVersion)
	}
	h.flags, raw = raw[1], raw[2:]
	items, raw, ok := uvarint(raw)
	if !ok || items > math.MaxInt32 {
		return h, errHeader
	}
	bytes, raw, ok := uvarint(raw)
	if !ok || bytes > 1<<40 || len(raw) < 8 {
		return h, errHeader
	}
	h.items, h.bytes = int(items), int64(bytes)
	h.arrived, raw = time.Unix(0, int64(binary.LittleEndian.Uint64(raw))), raw[8:]
	if version > firstVersion {
		var uptime uint64
		if uptime, raw, ok = uvarint(raw); !ok || uptime > math.MaxInt64 {
			return h, errHeader
		}
		h.uptime = time.Duration(uptime)
	}
	links, raw, ok := uvarint(raw)
	size := linkBytes(h.flags)
	if !ok || links != uint64(len(raw)/size) || len(raw)%size != 0 {
		return h, errHeader
	}
	for ; len(raw) > 0; raw = raw[size:] {
		h.links = append(h.links, edge{pcommon.SpanID(raw[:8]), pcommon.SpanID(raw[8:16]), size > 16 && raw[16] == 1})
	}
	return h, nil
}

func uvarint(raw []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(raw)
	if n <= 0 {
		return 0, nil, false
	}
	return v, raw[n:], true
}

// bytes is the key of a record.
func (k Key) bytes() []byte {
	return append(append(make([]byte, 0, len(k.TraceID)+len(k.Tenant)), k.TraceID[:]...), k.Tenant...)
}

// ParseKey reads the key of a record.
func ParseKey(raw []byte) (Key, error) {
	if len(raw) < 16 {
		return Key{}, fmt.Errorf("%w: key of %d bytes", errHeader, len(raw))
	}
	return Key{TraceID: pcommon.TraceID(raw[:16]), Tenant: string(raw[16:])}, nil
}
