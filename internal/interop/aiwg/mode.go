// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The execution modes of the schema.
const (
	modeStrict  = "strict"
	modeSeeded  = "seeded"
	modeLogged  = "logged"
	modeDefault = "default"
)

// seen counts what the mode is inferred from.
type seen struct {
	models, seeds, zeros    int // model calls; those with a seed; those with temperature 0
	modelsTold, tools, told int // model calls whose answer is recorded; tool calls; those with arguments and result
}

func seenOf(t *tape.Tape) (s seen) {
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventModelCall:
			s.models++
			if (member{is: anInteger}).check("", e.Params.Get("seed")) == nil {
				s.seeds++
			}
			if f, ok := e.Params.Get("temperature").Float(); ok && f == 0 {
				s.zeros++
			}
			if e.Response != nil && e.Response.Message != "" {
				s.modelsTold++
			}
		case tape.EventToolCall:
			s.tools++
			if !e.Args.IsAbsent() && (!e.Result.IsAbsent() || e.Error != nil) {
				s.told++
			}
		}
	}
	return s
}

// mode never claims more than was seen. It is strict when all model calls have temperature 0 and a seed, seeded when all have a seed,
// logged when the content of every call is recorded.
func (s seen) mode() string {
	switch {
	case s.models > 0 && s.seeds == s.models && s.zeros == s.models:
		return modeStrict
	case s.models > 0 && s.seeds == s.models:
		return modeSeeded
	case s.models+s.tools > 0 && s.modelsTold == s.models && s.told == s.tools:
		return modeLogged
	}
	return modeDefault
}

func (s seen) value() exactjson.Value {
	count := func(n int) exactjson.Value { return exactjson.IntValue(int64(n)) }
	return exactjson.ObjectValue(
		interop.Member("model_calls", count(s.models)),
		interop.Member("with_seed", count(s.seeds)),
		interop.Member("with_temperature_0", count(s.zeros)),
		interop.Member("with_content", count(s.modelsTold)),
		interop.Member("tool_calls", count(s.tools)),
		interop.Member("tool_calls_with_content", count(s.told)))
}
