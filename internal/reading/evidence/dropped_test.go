// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// TestThatEvidenceWasDroppedStaysWithTheEvidence: the note is one, however often it is made, stands in the
// part, and says nothing of a replay.
func TestThatEvidenceWasDroppedStaysWithTheEvidence(t *testing.T) {
	set := NewSet()
	td := agentload.New(1).Trace(agentload.Short)
	set.AddTraces(td)
	n := set.Len()
	if set.Dropped() {
		t.Error("a set says from the start that evidence was dropped")
	}
	for range 2 {
		set.AddDropped(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID())
	}
	part, err := set.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromPart(part)
	if err != nil || !read.Dropped() || read.Len() != n+1 || read.Verdict(segregation.Default).Replay {
		t.Errorf("%v, %d items of %d", err, read.Len(), n+1)
	}
}
