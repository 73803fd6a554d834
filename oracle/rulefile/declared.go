// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rulefile

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/oracle"
)

// Declared reads which tools are declared safe to call again, and returns a rule with mode live for each of them. It takes
//
//   - the result of tools/list of an MCP server, also inside its JSON-RPC response: a tool with readOnlyHint or idempotentHint is live,
//     unless destructiveHint says that it destroys;
//   - an agent configuration of Forge (forge.yaml), or any list of tools with a name: a tool with idempotent: true is live.
//
// Tools without such a declaration have no rule. Hints are what the author of the server says, not a proof.
func Declared(data []byte) (map[string]oracle.ToolRule, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("tool declarations: larger than %d bytes", MaxBytes)
	}
	var d struct {
		declaration `yaml:",inline"`
		Result      declaration `yaml:"result"`
	}
	if err := yaml.Unmarshal(data, &d); err != nil { // JSON is YAML
		return nil, fmt.Errorf("tool declarations: %w", err)
	}
	tools := append(d.Tools, d.Result.Tools...)
	if len(tools) == 0 {
		return nil, errors.New("tool declarations: there is no list of tools")
	}
	live := map[string]oracle.ToolRule{}
	for i, t := range tools {
		if t.Name == "" {
			return nil, fmt.Errorf("tool declarations: tool %d has no name", i)
		}
		if t.live() {
			live[t.Name] = oracle.ToolRule{Mode: oracle.ModeLive}
		}
	}
	return live, nil
}

type declaration struct {
	Tools []declaredTool `yaml:"tools"`
}

type declaredTool struct {
	Name        string `yaml:"name"`
	Idempotent  bool   `yaml:"idempotent"`
	Annotations struct {
		ReadOnly    bool `yaml:"readOnlyHint"`
		Idempotent  bool `yaml:"idempotentHint"`
		Destructive bool `yaml:"destructiveHint"`
	} `yaml:"annotations"`
}

func (t declaredTool) live() bool {
	a := t.Annotations
	return t.Idempotent || a.ReadOnly || a.Idempotent && !a.Destructive
}
