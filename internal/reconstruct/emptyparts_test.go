// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"reflect"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
)

// Reports share the parts of which their items say nothing: what one call wrote there would be read of all.
func TestNobodyWritesIntoTheEmptyPartsOfReports(t *testing.T) {
	for _, run := range runs(t) {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		reconstruct.All(set.Split(), options)
	}
	step := genai.NewReport(genai.Structure, func(*genai.Draft) {})
	call := genai.NewReport(genai.Model, func(*genai.Draft) {})
	for _, part := range []any{step.ModelCall, step.ToolCall, step.AgentRun, step.InOut, step.RetrievalCall, call.Step} {
		if v := reflect.ValueOf(part).Elem(); !v.IsZero() {
			t.Errorf("the empty %s holds %+v", v.Type().Name(), v)
		}
	}
}
