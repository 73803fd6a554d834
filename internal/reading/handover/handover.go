// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package handover declares the resource attributes that the components of a collector hand each other beside the evidence. They share one
// reserved namespace. The package also writes and reads them.
//
// agentredaction writes the marker of its redaction. agentrun removes every attribute of the namespace that a sender has written, except a
// marker with the proof of this process, and writes what it knows of a run. replaysplit and the tape exporter read both.
package handover

import (
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Prefix begins the names of all attributes that only components of this project write.
const Prefix = "tapedeck."

// The resource attributes.
const (
	RunKey      = Prefix + "run.key"      // string: <tenant>/<trace id, 32 hex>
	RunItems    = Prefix + "run.items"    // int: distinct spans of the trace so far
	RunComplete = Prefix + "run.complete" // bool: nothing says that the root is missing, or that does not matter
	RunReplay   = Prefix + "run.replay"   // string: the tags of the emission, if it has any, as segregation.Tags writes them
	Redaction   = Prefix + "redaction"    // string: which redaction the evidence has seen (Marker), or Unredacted
)

// Unredacted stands in the place of a marker where no redaction has seen the evidence, and none is required.
const Unredacted = "none"

// Run is what agentrun says of the run that a resource belongs to.
type Run struct {
	Key      string // <tenant>/<trace id>; empty: no agentrun has assembled it
	Items    int    // distinct spans of the trace so far
	Complete bool   // the run is whole as far as anyone can know
	Stated   bool   // Complete was said, as true or false
	Replay   string // the tags of the emission, as segregation.Tags writes them
	// Malformed says that the tags are no text: something is a replay, and nobody knows of what.
	Malformed bool
}

// ReadRun reads what Write has written. An attribute of another type counts as missing, except tags: they are Malformed then.
//
// The key is taken as it is, without a proof. agentrun strips what senders have written, so behind agentrun nobody else can have written
// it. If no agentrun stands before a tape exporter, the check of the pipelines warns. See docs/architecture.md.
func ReadRun(resource pcommon.Map) Run {
	run := Run{Key: textOf(resource, RunKey), Replay: textOf(resource, RunReplay)}
	if v, ok := resource.Get(RunReplay); ok {
		run.Malformed = v.Type() != pcommon.ValueTypeStr
	}
	if v, ok := resource.Get(RunItems); ok && v.Type() == pcommon.ValueTypeInt {
		run.Items = int(v.Int())
	}
	if v, ok := resource.Get(RunComplete); ok && v.Type() == pcommon.ValueTypeBool {
		run.Complete, run.Stated = v.Bool(), true
	}
	return run
}

// Write puts the run on a resource.
func (r Run) Write(resource pcommon.Map) {
	resource.PutStr(RunKey, r.Key)
	resource.PutInt(RunItems, int64(r.Items))
	resource.PutBool(RunComplete, r.Complete)
	if r.Replay != "" {
		resource.PutStr(RunReplay, r.Replay)
	}
}

// Assembled tells whether agentrun has put the resource together.
func (r Run) Assembled() bool { return r.Key != "" }

// Tenant returns the tenant of the run, which may contain slashes; otherwise is returned when no agentrun has said it.
func (r Run) Tenant(otherwise string) string {
	if i := strings.LastIndexByte(r.Key, '/'); i > 0 {
		return r.Key[:i]
	}
	return otherwise
}

// TraceID returns the trace of the run. Spans name their trace themselves; this is for a resource that has
// none, and says only which tags were found.
func (r Run) TraceID() (id pcommon.TraceID, ok bool) {
	i := strings.LastIndexByte(r.Key, '/')
	if i <= 0 || len(r.Key)-i-1 != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(r.Key[i+1:]))
	return id, err == nil && !id.IsEmpty()
}

// Strip removes the attributes of the namespace and returns how many there were. It looks before it writes, because there are mostly none.
func Strip(m pcommon.Map) (removed int) { return strip(m, "") }

// StripExceptRedaction is Strip, and leaves the marker of a redaction.
func StripExceptRedaction(m pcommon.Map) (removed int) { return strip(m, Redaction) }

func strip(m pcommon.Map, keep string) (removed int) {
	reserved := func(key string) bool { return strings.HasPrefix(key, Prefix) && key != keep }
	for key := range m.All() {
		if reserved(key) {
			removed++
		}
	}
	if removed > 0 {
		m.RemoveIf(func(key string, _ pcommon.Value) bool { return reserved(key) })
	}
	return removed
}

func textOf(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}
