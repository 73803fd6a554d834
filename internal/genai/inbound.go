// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

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

// InboundHeaders are the headers that a Forge agent reads and that steer a run or name its caller, in the order of its documentation.
// The span attribute that holds one, and the member of an audit record, are empty where there is none.
var InboundHeaders = []struct{ Name, Attribute, Audit string }{
	{"X-Workflow-ID", "forge.workflow.id", "workflow_id"},
	{"X-Workflow-Execution-ID", "forge.workflow.execution.id", "workflow_execution_id"},
	{"X-Workflow-Stage-ID", "forge.workflow.stage.id", "stage_id"},
	{"X-Workflow-Step-ID", "forge.workflow.step.id", "step_id"},
	{"X-Invocation-Caller", "", "invocation_caller"},
	{"X-Forge-Org-ID", "", "org_id"},
	{"X-Forge-Workspace-ID", "", "workspace_id"},
	{"Authorization", "", ""},
	{"baggage", "", ""},
}

// ChannelHeaders are what Forge's channel router sends besides.
var ChannelHeaders = []string{"X-Forge-Channel", "X-Forge-Channel-User", "X-Forge-Channel-Email"}

// forgeEntry reads the span of a request. Forge writes the workflow attributes as soon as one such header came, "" for those that did
// not, so an absent attribute is a header that was not sent.
func forgeEntry(s *Source) *Inbound {
	a := attributes(s.Span.Attributes())
	in := &Inbound{
		Method:   a.str("forge.a2a.method"),
		Channel:  strings.HasPrefix(s.Span.Name(), "channel."),
		Schedule: s.Span.Name() == "schedule.fire",
	}
	if in.Method == "" {
		return in
	}
	for _, h := range InboundHeaders {
		switch value := a.str(h.Attribute); {
		case h.Attribute == "":
		case value == "":
			in.Absent = append(in.Absent, h.Name)
		default:
			in.Headers = append(in.Headers, Header{Name: h.Name, Value: value})
		}
	}
	return in
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
