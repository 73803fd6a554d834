// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Tolerated is a field of an event that is not equal to the recorded one and was taken for equal, as the
// model stub takes it.
type Tolerated struct {
	Seq    int               `json:"seq"` // of the recording; 0 is what the run was asked
	Field  compare.Field     `json:"field"`
	Labels []modelstub.Label `json:"labels"`
}

// Reconciler compares what a replay did with what was recorded in the normal form in which its model calls
// were compared, with the names that they were given.
type Reconciler struct {
	Normal oracle.Normal
	Names  *normalise.Renaming
	Served func(tool, argsHash string) bool // the result of a call was the recorded one
}

// Compare compares a replay with its recording. What agrees in the normal form is equal, and is listed.
func (c *Reconciler) Compare(recorded, replayed *tape.Tape, o compare.Options) (r *compare.Result, tolerated []Tolerated, err error) {
	r, err = compare.Tapes(recorded, replayed, o)
	if err != nil || r.Equal {
		return r, nil, err
	}
	as, tolerated := c.Reconcile(recorded, replayed, r)
	r, err = compare.Tapes(recorded, as, o)
	return r, tolerated, err
}

// Reconcile returns the replayed run with the recorded values in place of those that agree with them in the
// normal form, and what it replaced. A result that does not agree has the recorded names of what is volatile,
// so that only the rest differs. r is the comparison of the two; both tapes stay as they are.
func (c *Reconciler) Reconcile(recorded, replayed *tape.Tape, r *compare.Result) (*tape.Tape, []Tolerated) {
	out := *replayed
	out.Events, out.Messages = slices.Clone(replayed.Events), maps.Clone(replayed.Messages)
	var list []Tolerated
	var unlike exactjson.Value // the live value of an agreement that failed, with the recorded names
	agree := func(seq int, field compare.Field, of oracle.Compared) bool {
		of.Field, of.Known = string(field), c.Names
		a := c.Normal.Agree(of)
		if unlike = a.Live; a.Agrees || !a.Recorded.Equal(of.Recorded) || !c.Names.Allows(a.Pairs) {
			unlike = of.Live
		}
		if !a.Agrees || !c.Names.Take(a.Pairs) {
			return false
		}
		if labels := modelstub.Labels(a.Needs); len(labels) > 0 && !slices.ContainsFunc(list, func(t Tolerated) bool { return t.Seq == seq && t.Field == field }) {
			list = append(list, Tolerated{seq, field, labels})
		}
		return true
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Kind != compare.Changed {
			continue
		}
		a, b := eventOf(recorded, s.A.Seq), eventOf(&out, s.B.Seq)
		if a == nil || b == nil || a.Type != b.Type {
			continue
		}
		for _, d := range s.Differences {
			of := oracle.Compared{Tool: a.Name}
			switch d.Field {
			case compare.FieldArgs:
				if of.Recorded, of.Live = a.Args, b.Args; agree(a.Seq, d.Field, of) {
					b.Args = a.Args
				}
			case compare.FieldExecutedArgs:
				if of.Recorded, of.Live = a.ExecutedArgs, b.ExecutedArgs; agree(a.Seq, d.Field, of) {
					b.ExecutedArgs = a.ExecutedArgs
				}
			case compare.FieldResult:
				of.Place = c.place(b)
				if of.Recorded, of.Live = a.Result, b.Result; agree(a.Seq, d.Field, of) {
					b.Result = a.Result
				} else {
					b.Result = unlike
				}
			case compare.FieldError:
				if a.Error == nil || b.Error == nil || a.Error.Type != b.Error.Type {
					continue
				}
				of.Place = c.place(b)
				if of.Recorded, of.Live = exactjson.StringValue(a.Error.Message), exactjson.StringValue(b.Error.Message); agree(a.Seq, d.Field, of) {
					b.Error = a.Error
				}
			case compare.FieldAsks:
				c.asks(recorded, &out, a, b, agree)
			}
		}
	}
	for _, d := range r.Input {
		asked, again := recorded.Input.UserMessage, replayed.Input.UserMessage
		if d.Field != compare.FieldUserMessage || asked == nil || again == nil {
			continue
		}
		if agree(0, d.Field, oracle.Compared{
			Recorded: exactjson.StringValue(*asked), Live: exactjson.StringValue(*again), Place: normalise.Prompt, Open: modelstub.Blocks,
		}) {
			out.Input.UserMessage = asked
		}
	}
	return &out, list
}

// place says who wrote the result of a call of the replay.
func (c *Reconciler) place(e *tape.Event) normalise.Place {
	if c.Served != nil && c.Served(e.Name, e.ArgsHash) {
		return normalise.Said
	}
	return normalise.Output
}

// asks puts the recorded arguments in place of those that a model of the replay asked for, where the calls
// are the same in order.
func (c *Reconciler) asks(recorded, out *tape.Tape, a, b *tape.Event, agree func(int, compare.Field, oracle.Compared) bool) {
	if a.Response == nil || b.Response == nil {
		return
	}
	said, again := recorded.Messages[a.Response.Message], out.Messages[b.Response.Message]
	again.Parts = slices.Clone(again.Parts)
	calls := func(m *tape.Message) (list []*tape.Part) {
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartToolCall {
				list = append(list, &m.Parts[i])
			}
		}
		return list
	}
	x, y := calls(&said), calls(&again)
	if len(x) != len(y) {
		return
	}
	for i := range x {
		if x[i].Name == y[i].Name && agree(a.Seq, compare.FieldAsks, oracle.Compared{Tool: x[i].Name, Recorded: x[i].Args, Live: y[i].Args}) {
			y[i].Args = x[i].Args
		}
	}
	response := *b.Response
	response.Message += " reconciled" // no id of a message
	out.Messages[response.Message] = again
	b.Response = &response
}

func eventOf(t *tape.Tape, seq int) *tape.Event {
	at := slices.IndexFunc(t.Events, func(e tape.Event) bool { return e.Seq == seq })
	if at < 0 {
		return nil
	}
	return &t.Events[at]
}
