// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Frameworks stop a run by an exception, until a person has answered or a result has come. Its name says so.
//
//	ApprovalRequired, CallDeferred                     Pydantic AI
//	GraphInterrupt, NodeInterrupt                      LangGraph
//	InterruptException                                 Strands
//	ToolInterruptError                                 Genkit
//	HumanFeedbackPending                               CrewAI
//	WaitingForEvent                                    LlamaIndex
//	HITLBreakpointException, BreakpointException       Haystack
//	UrlElicitationRequiredError                        MCP
//
// KeyboardInterrupt, InterruptedError and InterruptedException end a program, and are none.
var pauses = []struct {
	name  *regexp.Regexp
	waits tape.Waiting
}{
	{regexp.MustCompile(`(?:Approval|Confirmation|Consent)(?:Required|Needed|Pending|Requested|Request)$`), tape.WaitingApproval},
	{regexp.MustCompile(`^(?:Requires?|Needs?|Pending|Await(?:ing)?|Wait(?:ing)?For)[A-Za-z]*(?:Approval|Confirmation|Consent)$`), tape.WaitingApproval},
	{regexp.MustCompile(`(?:Human|User)(?:Input|Feedback|Intervention|Response|Review|Action|Decision)(?:Is)?(?:Required|Needed|Pending|Requested|Request)$`), tape.WaitingInput},
	{regexp.MustCompile(`^(?:Requires?|Needs?|Pending|Await(?:ing)?|Wait(?:ing)?For)(?:Human|User)(?:Input|Feedback|Intervention|Response|Review|Action|Decision)?$`), tape.WaitingInput},
	{regexp.MustCompile(`^(?:InputRequired|WaitingForEvent|WaitingForInput)$|ElicitationRequired$`), tape.WaitingInput},
	{regexp.MustCompile(`^(?:(?:Tool)?Calls?Deferred|Deferred(?:Tool)?Calls?|ToolDeferred|External(?:Tool|Execution|ToolCall|ToolExecution)(?:Required|Pending))$`), tape.WaitingResult},
	{regexp.MustCompile(`^(?:Graph|Node|Agent|Tool|Workflow|Flow|Step|Task|Run|Human|HITL|Hitl|Dynamic)?Interrupt(?:Request|Requested)?$`), tape.WaitingResume},
	{regexp.MustCompile(`^(?:Graph|Node|Agent|Tool|Workflow|Flow|Step|Run)(?:Suspend|Suspended|Suspension|Pause|Paused)$|^(?:HITL|Hitl)?Breakpoint$`), tape.WaitingResume},
}

// PauseBy is what waits behind an exception of this type, empty behind any other.
func PauseBy(exception string) tape.Waiting {
	name := exception[strings.LastIndexAny(exception, "./:$\\")+1:]
	for _, end := range []string{"Error", "Exception", "Signal"} {
		name = strings.TrimSuffix(name, end)
	}
	for _, p := range pauses {
		if p.name.MatchString(name) {
			return p.waits
		}
	}
	return ""
}

// leadingClass is the class of an exception that a message begins with, as languages write it.
var leadingClass = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.]*)(?:\(|:|$)`)

// PauseIn is what waits behind the exception with which a message begins: "GraphInterrupt((…))".
func PauseIn(message string) tape.Waiting {
	if lead := leadingClass.FindStringSubmatch(message); lead != nil {
		return PauseBy(lead[1])
	}
	return ""
}

// wordSeparators makes one of the ways in which frameworks separate words.
var wordSeparators = strings.NewReplacer("-", "_", " ", "_")

// PauseReason is what an agent waits for that ended for this reason.
func PauseReason(reason string) tape.Waiting {
	switch strings.ToLower(wordSeparators.Replace(reason)) {
	case "requires_approval", "approval_required", "tool_approval", "awaiting_approval", "pending_approval", "waiting_for_approval":
		return tape.WaitingApproval
	case "input_required", "human_input_required", "awaiting_input", "waiting_for_input":
		return tape.WaitingInput
	case "interrupt", "interrupted", "suspended", "paused":
		return tape.WaitingResume
	}
	return ""
}

// IsPendingResult reports what ADK returns in place of a tool that somebody has to confirm first. Its
// versions for Go name the tool in it.
func IsPendingResult(result exactjson.Value) bool {
	v, ok := Structure(result)
	said := v.Get("error").Str()
	return ok && v.Len() == 1 && strings.HasSuffix(strings.TrimSuffix(said, "."), "requires confirmation, please approve or reject")
}

// AsksForApproval reports a part of an answer by which a framework asks for the approval of a call: that of
// Microsoft's Agent Framework, and that of the AI SDK.
func AsksForApproval(p Part) bool {
	switch p.Value.Get("type").Str() {
	case "function_approval_request", "tool-approval-request", "tool_approval_request", "tool_approval_item", "mcp_approval_request":
		return p.Type == tape.PartData
	}
	return false
}
