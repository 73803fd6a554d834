// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

// This stage unites the parts of a run. A run is not a trace, and what hangs together in a trace is not
// always all of a run. Command line agents open a trace per step, a provider's SDK opens one per call, and
// steps lose their parent or their trace context. The conversation is the spine of a run: a request that
// repeats what another part asked and was answered goes on with it, a tool call belongs to the part that
// asked for it, and a new user message begins a new run.

// How parts of a run were found to be one, as the finding says it.
const (
	ByRun          = "run id"
	ByConversation = "conversation"
	ByCall         = "tool calls"
	ByTime         = "session and time"
	ByContent      = "content"
	byDescription  = "description of the agent"
	ByLinks        = "span links"
	ByOffer        = "offered tools"
)
