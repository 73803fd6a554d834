// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// InboundHeaders are the request headers by which a Forge agent is steered or told its caller, in the order
// of its documentation. Attribute is the span attribute that holds the header, Audit the member of an audit
// record; each is empty if there is none.
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

// ChannelHeaders are the headers that Forge's channel router adds.
var ChannelHeaders = []string{"X-Forge-Channel", "X-Forge-Channel-User", "X-Forge-Channel-Email"}

// forgeEntry reads the span of a request. Forge writes the workflow attributes as soon as one such header
// came, and "" for those that did not come. So an absent attribute is a header that was not sent.
func forgeEntry(s *dialect.Source) *dialect.Inbound {
	a := decode.Attributes(s.Span.Attributes())
	in := &dialect.Inbound{
		Method:   a.Text("forge.a2a.method"),
		Channel:  strings.HasPrefix(s.Span.Name(), "channel."),
		Schedule: s.Span.Name() == "schedule.fire",
	}
	if in.Method == "" {
		return in
	}
	for _, h := range InboundHeaders {
		switch value := a.Text(h.Attribute); {
		case h.Attribute == "":
		case value == "":
			in.Absent = append(in.Absent, h.Name)
		default:
			in.Headers = append(in.Headers, dialect.Header{Name: h.Name, Value: value})
		}
	}
	return in
}
