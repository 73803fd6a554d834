// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop/interoptest"
	"github.com/tapedeck/tapedeck/tape"
)

// asSent is the request of a recorded model call as an agent would send it.
func asSent(t *tape.Tape, e *tape.Event) Request {
	r := Request{API: "test", Model: e.Model}
	for _, id := range e.Request.Messages {
		r.Messages = append(r.Messages, t.Messages[id])
	}
	for _, id := range e.Request.Tools {
		r.Tools = append(r.Tools, t.Tools[id].Name)
	}
	return r
}

// TestEveryRecordedRequestGetsItsRecordedAnswer sends each request of each recorded run again. What a request is answered is what stands on
// the tape, and a turn whose answer the tape lacks is said to be unservable.
func TestEveryRecordedRequestGetsItsRecordedAnswer(t *testing.T) {
	served, unservable, asked := 0, 0, 0
	for _, recorded := range interoptest.Corpus(t, "../../../testdata/corpus") {
		s := New(recorded.Tape, Options{}).NewSession()
		for i := range recorded.Tape.Events {
			e := &recorded.Tape.Events[i]
			if e.Type != tape.EventModelCall || e.Request == nil || len(e.Request.Messages) == 0 {
				continue
			}
			asked++
			a := s.Answer(asSent(recorded.Tape, e))
			switch {
			case a.Outcome == Unservable:
				unservable++
			case !a.Outcome.Served():
				t.Errorf("%s event %d: %s %+v", recorded.Name, e.Seq, a.Outcome, a.Nearest)
			case a.Seq() != e.Seq && !sameAnswer(recorded.Tape, a.turn.event, e):
				t.Errorf("%s event %d: got the answer of event %d, labels %v", recorded.Name, e.Seq, a.Seq(), a.Labels)
			default:
				served++
			}
		}
	}
	t.Logf("%d requests: %d served, %d unservable", asked, served, unservable)
	if asked < 500 {
		t.Errorf("only %d requests", asked)
	}
}

func sameAnswer(t *tape.Tape, a, b *tape.Event) bool {
	return a.Response != nil && b.Response != nil && a.Response.Message == b.Response.Message && a.Status == b.Status
}
