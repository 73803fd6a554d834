// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import "github.com/tapedeck/tapedeck/tape"

// Call is one request of a session, as reports show it.
type Call struct {
	Call    int         `json:"call"`
	API     string      `json:"api"`
	Model   string      `json:"model,omitempty"`
	Stream  bool        `json:"stream,omitempty"`
	Outcome Outcome     `json:"outcome"`
	Seq     int         `json:"seq,omitempty"` // of the recorded model call
	Run     string      `json:"run,omitempty"` // its run, where several are served
	Reason  string      `json:"reason,omitempty"`
	Labels  []Label     `json:"labels,omitempty"`
	MadeUp  []string    `json:"made_up,omitempty"` // fields of the answer that the tape does not hold
	LeftOut []string    `json:"left_out,omitempty"`
	Nearest *Difference `json:"nearest,omitempty"`
}

func (s *Stub) newCall(r Request, a *Answer) *Call {
	c := &Call{Call: a.Call, API: r.API, Model: r.Model, Stream: r.Stream, Outcome: a.Outcome, Seq: a.Seq(), Reason: a.reason, Labels: a.Labels, Nearest: a.Nearest}
	if a.turn != nil {
		c.Run = s.run(a.turn)
	}
	return c
}

// Unused is a recorded model call that nobody asked for.
type Unused struct {
	Seq    int    `json:"seq"`
	Run    string `json:"run,omitempty"` // where several are served
	Caller string `json:"caller,omitempty"`
	Model  string `json:"model,omitempty"`
}

// Report is what happened in a session. Its JSON form is part of the contract.
type Report struct {
	Calls  []*Call  `json:"calls"`
	Unused []Unused `json:"unused"`
	Turns  int      `json:"turns"` // recorded model calls
	Missed int      `json:"missed"`
	Live   int      `json:"live,omitempty"` // asked of a real model
	// Volatile counts the values that are others than in the recording and were taken for equal.
	Volatile []Renamed `json:"volatile,omitempty"`
	// Beside is what was asked for beside model calls.
	Beside []Beside `json:"beside,omitempty"`
}

// Report tells what happened so far.
func (s *Session) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Calls: []*Call{}, Unused: []Unused{}, Turns: len(s.stub.turns), Volatile: s.stub.options.renamed(s.names)}
	for _, c := range s.calls {
		own := *c
		r.Calls = append(r.Calls, &own)
		switch {
		case c.Outcome == Live:
			r.Live++
		case !c.Outcome.Served():
			r.Missed++
		}
	}
	for _, b := range s.beside {
		r.Beside = append(r.Beside, *b)
	}
	for i, n := range s.stub.turns {
		if s.stub.options.free(n) {
			r.Turns--
		} else if !s.used[i] {
			r.Unused = append(r.Unused, Unused{Seq: n.event.Seq, Run: s.stub.run(n), Caller: n.event.Caller, Model: n.event.Model})
		}
	}
	return r
}

// declare notes what of an answer was made up and what of the recording had no place in it.
func (s *Session) declare(call int, madeUp, leftOut []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[call-1]
	c.MadeUp, c.LeftOut = madeUp, leftOut
}

// leftOut are the kinds of parts that an answer has and its protocol cannot carry.
func leftOut(m tape.Message, carried ...tape.PartType) (kinds []string) {
	for _, p := range m.Parts {
		known := false
		for _, c := range carried {
			known = known || p.Type == c
		}
		if !known {
			kinds = append(kinds, string(p.Type))
		}
	}
	return kinds
}
