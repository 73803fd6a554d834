// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverStepped makes the model call of a run without any call, from what its steps tell.
//
// Needs: a step that came to an answer behind what was put together for the model.
// Refuses: a run with any call on record.
// Seen in: LlamaIndex's workflows where nobody instruments the client of the provider.
func RecoverStepped(c *ledger.Ledger, f *fragment.Fragment) {
	if len(c.Models)+len(c.Tools)+len(c.Retrievals) > 0 {
		return
	}
	s := f.Stepped()
	if s.Answer == nil {
		return
	}
	c.Models = append(c.Models, &ledger.Call{
		Kind:  tape.EventModelCall,
		Obs:   genai.NewReport(genai.Model, answeredAs(*s.Answer, s.Last)),
		Start: s.By.Start, End: s.By.Start,
		Notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the step " + s.By.Span.Name() + " holds its answer"}},
	})
}
