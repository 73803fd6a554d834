// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// AgentHandedTo names the agent that a call of this name hands over to, "" where it hands over to none. The
// span of a hand-off may have the name of the agent alone.
func AgentHandedTo(name string, args exactjson.Value, handoff bool) string {
	if name == "transfer_to_agent" || name == "handoff_to_agent" {
		return NormalName(args.First("agent_name", "agentName", "agent").Str())
	}
	if target := HandoffTarget(name); handoff || target != NormalName(name) {
		return target
	}
	return ""
}

// HandoffTarget is the name of the agent in the name of a hand-off, or the whole name.
func HandoffTarget(name string) string {
	for _, p := range []string{"handoff to ", "handoff_to_", "transfer_to_"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return NormalName(rest)
		}
	}
	return NormalName(name)
}

// NormalName is a name in lower case, with one separator.
func NormalName(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer(" ", "_", "-", "_")
