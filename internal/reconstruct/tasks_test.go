// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// A crew that failed, of which no span of a model call is: what its only task and its only agent were defined with is what it was given.
func TestRunThatKeptNothingWasGivenItsOnlyTask(t *testing.T) {
	const scope = "openinference.instrumentation.crewai"
	one := `{"agent":{"role":"clerk","backstory":"You watch jobs."},"tools":[]}`
	for name, c := range map[string]struct{ tasks, second, user, system string }{
		"one task":         {`[{"description":"Job 99?","agent_role":"clerk"}]`, "", "Job 99?", "You watch jobs."},
		"two tasks":        {`[{"description":"Job 98?"},{"description":"Job 99?"}]`, "", "", "You watch jobs."},
		"a template":       {`[{"description":"Job {job}?"}]`, "", "", "You watch jobs."},
		"of several":       {`[{"description":"Job 99?"}]`, `{"agent":{"role":"boss","backstory":"You lead."}}`, "Job 99?", ""},
		"of an agent more": {`[{"description":"Job 99?"}]`, `{"agent":{"role":"clerk","backstory":"You watch jobs."}}`, "Job 99?", "You watch jobs."},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in(scope, "Crew.kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "crew_tasks", c.tasks)
			tr.in(scope, "clerk._execute_core", 2, 1, 1, 90, "openinference.span.kind", "AGENT", "input.value", one)
			tr.in(scope, "get_job.run", 3, 2, 10, 20, "openinference.span.kind", "TOOL", "tool.name", "get_job", "input.value", `{"job":"99"}`, "output.value", "failed")
			if c.second != "" {
				tr.in(scope, "boss._execute_core", 4, 1, 91, 95, "openinference.span.kind", "AGENT", "input.value", c.second)
			}
			tp := the(t, tr.runs(t))
			text := func(s *string) string {
				if s == nil {
					return ""
				}
				return *s
			}
			if got := text(tp.Input.UserMessage); got != c.user {
				t.Errorf("asked %q, want %q", got, c.user)
			}
			if got := text(tp.Input.SystemPrompt); got != c.system {
				t.Errorf("told %q, want %q", got, c.system)
			}
		})
	}
}
