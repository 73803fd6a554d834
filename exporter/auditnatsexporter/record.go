// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter // import "github.com/tapedeck/tapedeck/exporter/auditnatsexporter"

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// originalKey holds the text of a record that was parsed on its way here (OpenTelemetry semantic conventions, log.record.original).
const originalKey = "log.record.original"

// message is one record as it is published.
type message struct {
	subject   string
	body      []byte
	id        string // equal for the same record at every delivery
	content   [sha256.Size]byte
	again     bool // the call holds the same content before
	replay    bool
	reencoded bool
	position
}

// position is where a record stands in its call.
type position struct{ resource, scope, record int }

// messages reads the records of a call, chain by chain, in order. An audit stream is the chain of one process, so the records with equal resources are one
// chain. Whole chains are replay or production.
func (e *auditExporter) messages(ld plog.Logs) (chains [][]message) {
	number := map[string]int{}
	of := make([]int, ld.ResourceLogs().Len())
	var replay []bool
	for i, rl := range ld.ResourceLogs().All() {
		key := fmt.Sprint(rl.Resource().Attributes().AsRaw()) // in the order of the keys
		n, ok := number[key]
		if !ok {
			n = len(number)
			number[key] = n
			replay = append(replay, false)
		}
		of[i] = n
		replay[n] = replay[n] || e.isReplay(rl)
	}
	chains = make([][]message, len(number))
	equal := map[[sha256.Size]byte]uint32{}
	for i, rl := range ld.ResourceLogs().All() {
		n := of[i]
		for j, sl := range rl.ScopeLogs().All() {
			for k, record := range sl.LogRecords().All() {
				m := message{replay: replay[n], position: position{i, j, k}}
				m.body, m.reencoded = original(record)
				m.subject = e.subject(replay[n], record.Attributes(), rl.Resource().Attributes())
				m.content = digest(m, record.Timestamp(), 0)
				// The same content twice in one call is two records; at the next delivery of the call it is again.
				id := m.content
				if n := equal[m.content]; n > 0 {
					m.again = true
					id = digest(m, record.Timestamp(), n)
				}
				m.id = hex.EncodeToString(id[:])
				equal[m.content]++
				chains[n] = append(chains[n], m)
			}
		}
	}
	return chains
}

func digest(m message, at pcommon.Timestamp, occurrence uint32) (sum [sha256.Size]byte) {
	h := sha256.New()
	var head []byte
	head = binary.BigEndian.AppendUint32(head, uint32(len(m.subject)))
	head = append(head, m.subject...)
	head = binary.BigEndian.AppendUint64(head, uint64(at))
	head = binary.BigEndian.AppendUint32(head, occurrence)
	h.Write(head)
	h.Write(m.body)
	return [sha256.Size]byte(h.Sum(nil))
}

// original returns the bytes of a record as its producer wrote them. If they are not known, it encodes the value again.
func original(record plog.LogRecord) (body []byte, reencoded bool) {
	if v, ok := record.Attributes().Get(originalKey); ok && v.Type() == pcommon.ValueTypeStr {
		return []byte(v.Str()), false
	}
	switch v := record.Body(); v.Type() {
	case pcommon.ValueTypeStr:
		return []byte(v.Str()), false
	case pcommon.ValueTypeBytes:
		return slices.Clone(v.Bytes().AsRaw()), false
	default:
		return []byte(v.AsString()), true
	}
}

// isReplay looks for a tag on the resource, its scopes and records, and in the records' own text.
func (e *auditExporter) isReplay(rl plog.ResourceLogs) bool {
	scan := segregation.Scan{Rules: e.rules}
	scan.Attributes(rl.Resource().Attributes())
	for _, sl := range rl.ScopeLogs().All() {
		scan.Attributes(sl.Scope().Attributes())
		for _, record := range sl.LogRecords().All() {
			scan.Attributes(record.Attributes())
			switch body := record.Body(); body.Type() {
			case pcommon.ValueTypeMap:
				scan.Attributes(body.Map())
			default:
				text, _ := original(record)
				scanText(&scan, text)
			}
			if scan.Found() {
				return true
			}
		}
	}
	return scan.Found()
}

// scanText scans the top level of a record that is a JSON object. It decodes only the members that the rules name.
func scanText(scan *segregation.Scan, text []byte) {
	if !scan.Rules.Mentioned(text) {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return
	}
	m := pcommon.NewMap()
	for key, raw := range members {
		if !scan.Rules.Has(key) {
			continue
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil || m.PutEmpty(key).FromRaw(value) != nil {
			m.PutEmpty(key) // no id
		}
	}
	scan.Attributes(m)
}

// subject is decided by the tag; among the subjects of production an attribute may choose.
func (e *auditExporter) subject(replay bool, attributes ...pcommon.Map) string {
	if replay {
		return e.cfg.ReplaySubject
	}
	if e.cfg.SubjectAttribute == "" {
		return e.cfg.Subject
	}
	for _, m := range attributes {
		if v, ok := m.Get(e.cfg.SubjectAttribute); ok && slices.Contains(e.cfg.AllowedSubjects, v.AsString()) {
			return v.AsString()
		}
	}
	return e.cfg.Subject
}
