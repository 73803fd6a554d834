// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// Inbound is what one item says of the A2A request that started a run.
type Inbound struct {
	// Method is the JSON-RPC method; its label says when it was not simply recorded.
	Method      string
	MethodLabel tape.Label
	// Headers were sent with the request. Absent are the headers that are known not to have been sent.
	Headers []Header
	Absent  []string
	// Channel says that a chat channel sent the request, Schedule that none was sent.
	Channel, Schedule bool
	// Guarded says that a guard rewrote the message before the agent saw it.
	Guarded bool
}

// Header is a header of the request.
type Header struct {
	Name, Value string
	Label       tape.Label
}

// Add takes from other what is not known yet.
func (in *Inbound) Add(other *Inbound) {
	if other == nil {
		return
	}
	if in.Method == "" {
		in.Method, in.MethodLabel = other.Method, other.MethodLabel
	}
	for _, h := range other.Headers {
		if !slices.ContainsFunc(in.Headers, func(x Header) bool { return x.Name == h.Name }) {
			in.Headers = append(in.Headers, h)
		}
	}
	in.Absent = append(in.Absent, other.Absent...)
	in.Channel = in.Channel || other.Channel
	in.Schedule = in.Schedule || other.Schedule
	in.Guarded = in.Guarded || other.Guarded
}
