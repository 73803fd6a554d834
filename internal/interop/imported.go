// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Finish completes a tape that was built from a file of another format. It adds tenant and producer, ids where the file has none, the
// numbers of the events, hashes, sums, grade and proof. The ids are derived from seed: the same seed gives the same ids, so it should
// be the file without its formatting. Finish keeps what stands on the tape already. Everything else is a function of it.
func Finish(t *tape.Tape, format string, seed []byte, o Options) Run {
	t.Kind, t.SchemaVersion = tape.Kind, tape.SchemaVersion
	t.Producer = o.Producer
	t.Producer.Name = cmp.Or(t.Producer.Name, "tapedeck")
	r := &t.Run
	r.Tenant = cmp.Or(r.Tenant, o.Tenant, "default")
	if r.TraceID == "" || r.RootSpanID == "" {
		h := sha256.New()
		h.Write([]byte("tapedeck import 1\n" + format + "\n"))
		h.Write(seed)
		sum := hex.EncodeToString(h.Sum(nil))
		r.TraceID, r.RootSpanID = sum[:32], sum[32:48]
	}
	r.RunID = r.TraceID + "-" + r.RootSpanID
	r.Status = cmp.Or(r.Status, tape.StatusOK)
	if len(t.Sources.Dialects) == 0 {
		t.Sources.Dialects = []string{format}
	}
	if len(t.Sources.TraceIDs) == 0 {
		t.Sources.TraceIDs = []string{r.TraceID}
	}
	t.Usage.ModelCalls, t.Usage.ToolCalls = 0, 0
	for i := range t.Events {
		e := &t.Events[i]
		e.Seq = i + 1
		e.Status = cmp.Or(e.Status, tape.EventOK)
		switch e.Type {
		case tape.EventModelCall:
			t.Usage.ModelCalls++
		case tape.EventToolCall:
			t.Usage.ToolCalls++
			e.ArgsHash = tape.ArgsHash(e.Args)
			e.ResultSHA256 = e.AnswerSHA256()
		}
	}
	oracle.Assess(t)
	return Run{Tape: t, Oracle: oracle.FromTape(t)}
}

// Pool puts a message into the pool of the tape and returns its id.
func Pool(t *tape.Tape, m tape.Message) string {
	id := m.ID()
	if t.Messages == nil {
		t.Messages = map[string]tape.Message{}
	}
	t.Messages[id] = m
	return id
}

// PoolTool puts a tool definition into the pool of the tape and returns its id.
func PoolTool(t *tape.Tape, tool tape.Tool) string {
	id := tool.ID()
	if t.Tools == nil {
		t.Tools = map[string]tape.Tool{}
	}
	t.Tools[id] = tool
	return id
}

// Text is a message of one text.
func Text(role tape.Role, text string) tape.Message {
	return tape.Message{Role: role, Parts: []tape.Part{{Type: tape.PartText, Text: text}}}
}
