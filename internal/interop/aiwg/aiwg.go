// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package aiwg writes and reads the execution snapshots of AIWG (github.com/jmagly/aiwg, execution-snapshot/v1). It matches the outcome of
// a run with that of its replay by the strategies that the schema names. docs/formats.md settles what the schema leaves open: the text of
// hashes, the names of files and the clock of the retention.
package aiwg

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const name = "aiwg"

// Format is the entry in the table of formats.
var Format = &interop.Format{
	Name:       name,
	Title:      "AIWG execution snapshot v1",
	Reads:      "v1",
	Beside:     true,
	Replays:    true,
	Home:       ".aiwg/provenance/snapshots",
	HomeName:   HomeName,
	BesideName: "execution-snapshot.json",
	FileName:   FileName,
	Encode:     Encode,
	Decode:     Decode,
	Fields:     Fields,
	Detect:     Detect,
	Notes: map[string]string{
		"system prompt":            "its digest",
		"tool names and arguments": "digests of the arguments",
		"tool results":             "their digests",
		"retrievals":               "their sources as context files",
		"tool definitions":         "their names",
		"provenance and findings":  "the codes of what is missing",
		"redaction":                "policy and counts",
	},
}

const (
	maxValues = 1 << 24
	// maxName is how much of a workflow id a file name holds.
	maxName = 160
)

// FileName is <workflow id>-<end of the run>-<first eight digits of the snapshot id>.json. This is AIWG's own rule, with a form of the
// time that every store takes and a suffix for runs that end in one second. The names of one workflow sort by time.
func FileName(t *tape.Tape) string {
	return fmt.Sprintf("%s-%s-%.8s.json", fileID(t), t.Run.EndedAt.UTC().Format("2006-01-02T15-04-05Z"), snapshotID(t))
}

// HomeName is <workflow id>-<end of the run>.json, to the letter of AIWG's rule. The time has nanoseconds.
func HomeName(t *tape.Tape) string {
	return fileID(t) + "-" + t.Run.EndedAt.UTC().Format("2006-01-02T15-04-05.000000000Z") + ".json"
}

// fileID is the workflow id with the characters that every store takes.
func fileID(t *tape.Tape) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, workflowID(t))
	id = id[:min(len(id), maxName)]
	if id[0] == '.' {
		id = "_" + id[1:] // no hidden files
	}
	return strings.ReplaceAll(id, "__0x", "___x") // gocloud.dev takes it for an escape
}

// workflowID names what was run, so that its runs can be compared.
func workflowID(t *tape.Tape) string {
	return cmp.Or(t.Run.WorkflowID, t.Run.Agent.Name, t.Run.Service.Name, "run")
}

// namespace is the UUID under which those of snapshots are made: version 5 of the URL namespace and the address of the project.
var namespace = uuid5([16]byte{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}, "https://github.com/tapedeck/tapedeck")

// snapshotID is a UUID (RFC 9562, version 5) of tenant, trace and root span: the same run has the same one, whenever it is written.
func snapshotID(t *tape.Tape) string {
	u := uuid5(namespace, t.Run.Tenant+"\x00"+t.Run.TraceID+"\x00"+t.Run.RootSpanID)
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func uuid5(space [16]byte, name string) (u [16]byte) {
	h := sha1.New()
	h.Write(space[:])
	h.Write([]byte(name))
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Detect reports whether data looks like an execution snapshot: it does not say what it is, but no other format has these members.
func Detect(data []byte) bool {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues)
	return err == nil && !v.Get("snapshot_id").IsAbsent() && !v.Get("captured_at").IsAbsent() && v.Get("config").Kind() == exactjson.Object
}

// Read reads a document leniently: strict JSON, and valid against the schema with formats as annotations, as JSON Schema 2020-12 has them
// by default. So any text is a snapshot_id and a hash, and unknown members are fine. Errors hold no content.
func Read(data []byte) (exactjson.Value, error) {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth-extensionDepth, maxValues)
	if err != nil {
		return v, fmt.Errorf("read AIWG snapshot: %w", err)
	}
	if v.Kind() != exactjson.Object || v.Get("snapshot_id").IsAbsent() && v.Get("workflow_id").IsAbsent() {
		return v, fmt.Errorf("read AIWG snapshot: %w: neither snapshot_id nor workflow_id", interop.ErrNotFormat)
	}
	if err := snapshotShape.check("", v); err != nil {
		return v, fmt.Errorf("read AIWG snapshot: %w", err)
	}
	return v, nil
}

// extensionDepth is how deep a document lies below the extensions of a tape.
const extensionDepth = 2

// ReadStrict is Read with formats asserted: it tells whether other strict readers would take the document too.
func ReadStrict(data []byte) (exactjson.Value, error) {
	v, err := Read(data)
	if err == nil {
		if err = snapshotShape.checkFormats("", v); err != nil {
			err = fmt.Errorf("read AIWG snapshot: %w", err)
		}
	}
	return v, err
}

// timeOf reads a date-time; false for anything that a tape has no place for.
func timeOf(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text)
	if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 || at.IsZero() {
		return time.Time{}, false
	}
	return at, true
}
