// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestExceptionsOfPausesAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]tape.Waiting{
		"pydantic_ai.exceptions.ApprovalRequired": tape.WaitingApproval, "ToolApprovalRequiredError": tape.WaitingApproval, "Acme.Agents.ConfirmationRequiredException": tape.WaitingApproval,
		"NeedsApproval": tape.WaitingApproval, "RequiresUserConfirmation": tape.WaitingApproval, "acme::PendingApproval": tape.WaitingApproval,
		"HumanInputRequired": tape.WaitingInput, "UserInputRequiredError": tape.WaitingInput, "HumanInterventionRequired": tape.WaitingInput, "crewai.flow.HumanFeedbackPending": tape.WaitingInput,
		"InputRequired": tape.WaitingInput, "WaitingForEvent": tape.WaitingInput, "UrlElicitationRequiredError": tape.WaitingInput, "AwaitingHumanInput": tape.WaitingInput,
		"CallDeferred": tape.WaitingResult, "ToolCallDeferred": tape.WaitingResult, "DeferredToolCall": tape.WaitingResult,
		"langgraph.errors.GraphInterrupt": tape.WaitingResume, "NodeInterrupt": tape.WaitingResume, "Interrupt": tape.WaitingResume, "InterruptException": tape.WaitingResume,
		"ToolInterruptError": tape.WaitingResume, "WorkflowSuspended": tape.WaitingResume, "HITLBreakpointException": tape.WaitingResume,

		"KeyboardInterrupt": "", "InterruptedError": "", "java.lang.InterruptedException": "", "ParentCommand": "", "CancelledError": "", "PermissionError": "", "ValueError": "",
		"PaymentRequired": "", "AuthenticationRequired": "", "ApprovalDenied": "", "ToolApprovalRejected": "", "InputRequiredFieldMissing": "", "": "",
	} {
		if got := decode.PauseBy(name); got != want {
			t.Errorf("%s waits for %q, want %q", name, got, want)
		}
	}
}

func TestMessageBeginsWithTheExceptionOfAPause(t *testing.T) {
	for message, want := range map[string]tape.Waiting{
		"ApprovalRequired: ": tape.WaitingApproval, "GraphInterrupt((Interrupt(value='sure?'),))": tape.WaitingResume, "NodeInterrupt": tape.WaitingResume,
		"a GraphInterrupt: was caught": "", "ValueError: GraphInterrupt": "", "Interrupted system call": "", "Interrupt the agent": "",
	} {
		if got := decode.PauseIn(message); got != want {
			t.Errorf("%q waits for %q, want %q", message, got, want)
		}
	}
}

func TestResultThatAsksForAConfirmationIsNone(t *testing.T) {
	for text, want := range map[string]bool{
		`{"error":"This tool call requires confirmation, please approve or reject."}`:          true,
		`{"error":"error tool \"writeFile\" requires confirmation, please approve or reject"}`: true,
		`{"error":"This tool call is rejected."}`:                                              false,
		`{"error":"x requires confirmation, please approve or reject.","id":7}`:                false,
		`"requires confirmation, please approve or reject"`:                                    false,
	} {
		if got := decode.IsPendingResult(genaitest.Parse(t, text)); got != want {
			t.Errorf("%s is pending: %t", text, got)
		}
	}
}
