// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/transcript"
	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// GeminiCLI is what Gemini CLI writes to ~/.gemini/tmp: lines, or one object with all messages.
var GeminiCLI = imports.Format{Name: "gemini-cli", Title: "Gemini CLI transcript", Tells: tellsGemini, Read: readGemini}

type geminiLine struct {
	SessionID string            `json:"sessionId"`
	StartTime string            `json:"startTime"`
	ID        string            `json:"id"`
	Timestamp string            `json:"timestamp"`
	Messages  []json.RawMessage `json:"messages"`
	RewindTo  string            `json:"$rewindTo"`
	Set       struct {
		Messages json.RawMessage `json:"messages"`
	} `json:"$set"`
}

func tellsGemini(head []byte) bool {
	head = head[:min(len(head), 1<<10)] // the ids of session and project begin a file
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"sessionId":`)) && bytes.Contains(head, []byte(`"projectHash":`))
}

func readGemini(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	var f geminiFile
	return in.Rows(nil, f.line)
}

// geminiFile is a transcript of Gemini CLI on the way through it.
type geminiFile struct {
	file
	session, begun string
}

// line makes a record of a line. Messages within the first one are lines that follow it.
func (f *geminiFile) line(text []byte) (doc otlpfile.Document, err error) {
	f.number++
	var l geminiLine
	if err := imports.Decode(text, &l); err != nil {
		return doc, err
	}
	if at := imports.Time(cmp.Or(l.Timestamp, l.StartTime)); at != 0 {
		f.at = at
	}
	switch {
	case f.number == 1 && l.SessionID != "":
		f.session, f.begun = l.SessionID, l.StartTime
		return f.lines(l.Messages)
	case f.session == "":
		return doc, fmt.Errorf("%w: a line before the id of the session", otlpfile.ErrMalformed)
	case l.ID == "" && l.RewindTo == "" && l.Set.Messages == nil:
		return doc, nil
	}
	record, doc := f.record(text, "gemini-cli", f.session)
	record.SetEventName(transcript.GeminiPrefix + "line")
	record.Attributes().PutStr(transcript.Thread, f.begun)
	return doc, nil
}

func (f *geminiFile) lines(list []json.RawMessage) (all otlpfile.Document, err error) {
	for _, text := range list {
		doc, err := f.line(text)
		switch {
		case err != nil:
			return otlpfile.Document{}, err
		case all.Signal == "":
			all = doc
		case doc.Signal != "":
			doc.Logs.ResourceLogs().MoveAndAppendTo(all.Logs.ResourceLogs())
		}
	}
	return all, nil
}
