// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentlane

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

func TestWhyARunWasNotReplayed(t *testing.T) {
	said := "seven\r\n"
	live := rerun.ToolCall{Name: "count", Layer: rerun.LayerLive}
	miss := modelstub.Report{Calls: []*modelstub.Call{{Call: 2, Outcome: "no_turn"}}}
	for want, of := range map[string]agentreplay.Outcome{
		"":               {Report: &rerun.Report{}, Tape: &tape.Tape{}, Said: &said},
		NoAnswer:         {Report: &rerun.Report{}, Tape: &tape.Tape{}},
		NoTelemetry:      {Report: &rerun.Report{}, Said: &said},
		ToolRanLive:      {Report: &rerun.Report{Tools: []rerun.ToolCall{live}}, Tape: &tape.Tape{}, Said: &said},
		ModelMissed:      {Report: &rerun.Report{Model: miss, Tools: []rerun.ToolCall{live}}, Tape: &tape.Tape{}},
		execlane.Timeout: {Report: &rerun.Report{Model: miss, Exit: rerun.Exit{TimedOut: true}}},
	} {
		out := resultOf(&tape.Tape{}, &of)
		got := ""
		if f := (&Candidate{}).failureOf(&of, &out); f != nil {
			got = f.Code
		}
		if got != want || of.Said != nil && out.Output.Text != "seven" {
			t.Errorf("%q, want %q: %+v", got, want, out)
		}
	}
}
