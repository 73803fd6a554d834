// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/transcript"
	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// OpenCode is what `opencode export` writes of a session: one object with all messages. A file may hold
// several.
var OpenCode = imports.Format{Name: "opencode", Title: "OpenCode export", Tells: beginsOpenCode.Match, Read: readOpenCode}

var beginsOpenCode = regexp.MustCompile(`^\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_`)

type openCodeExport struct {
	Info struct {
		ID       string       `json:"id"`
		ParentID string       `json:"parentID"`
		Version  string       `json:"version"`
		Time     openCodeTime `json:"time"`
	} `json:"info"`
	Messages []json.RawMessage `json:"messages"`
}

type openCodeMessage struct {
	Info struct {
		ID   string       `json:"id"`
		Time openCodeTime `json:"time"`
	} `json:"info"`
}

type openCodeTime struct {
	Created int64 `json:"created"` // milliseconds
}

func readOpenCode(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows(nil, func(text []byte) (otlpfile.Document, error) {
		var x openCodeExport
		if err := imports.Decode(text, &x); err != nil {
			return otlpfile.Document{}, err
		}
		if x.Info.ID == "" {
			return otlpfile.Document{}, fmt.Errorf("%w: an export without the id of its session", otlpfile.ErrMalformed)
		}
		return x.records()
	})
}

// records makes a record of each message. Messages that are older than the session are those of the session
// that it was forked from. The trace of an agent is that of the session that ran it.
func (x *openCodeExport) records() (all otlpfile.Document, err error) {
	f := file{}
	for _, text := range x.Messages {
		f.number++
		var m openCodeMessage
		if err := imports.Decode(text, &m); err != nil {
			return otlpfile.Document{}, err
		}
		f.at = pcommon.NewTimestampFromTime(time.UnixMilli(m.Info.Time.Created))
		record, doc := f.record(text, "opencode", cmp.Or(x.Info.ParentID, x.Info.ID))
		record.SetSpanID(imports.SpanID("opencode", x.Info.ID, m.Info.ID))
		record.SetEventName(transcript.OpenCodePrefix + "message")
		if m.Info.Time.Created < x.Info.Time.Created {
			record.SetEventName(transcript.OpenCodePrefix + "copy")
		}
		record.Attributes().PutStr(transcript.Thread, x.Info.ID)
		doc.Logs.ResourceLogs().At(0).Resource().Attributes().PutStr("service.version", x.Info.Version)
		if all.Signal == "" {
			all = doc
		} else {
			doc.Logs.ResourceLogs().MoveAndAppendTo(all.Logs.ResourceLogs())
		}
	}
	return all, nil
}
