// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rulefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tapedeck/tapedeck/oracle"
)

// Sources are the places where rules can stand: files, and names of tools. The names go before the rules file, which goes before the
// declarations.
type Sources struct {
	Rules    string   // a rules file
	Declared []string // files with declarations of tools
	Live     []string // tools whose calls go live
	Refused  []string // tools whose calls are refused
	// ReadThrough are tools whose calls go live where there is no recorded answer.
	ReadThrough []string
}

// Read reads the files and returns the rules that follow from all of it.
func (s Sources) Read() (*oracle.Rules, error) {
	rules := &oracle.Rules{Tools: map[string]oracle.ToolRule{}}
	if s.Rules != "" {
		data, err := readFile(s.Rules)
		if err != nil {
			return nil, err
		}
		if rules, err = Read(data); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Rules, err)
		}
	}
	set := func(tool string, mode oracle.Mode) {
		rule := rules.Tools[tool]
		rule.Mode = mode
		rules.Tools[tool] = rule
	}
	for _, file := range s.Declared {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		declared, err := Declared(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for tool := range declared {
			if rules.Tools[tool].Mode == "" {
				set(tool, oracle.ModeLive)
			}
		}
	}
	for _, tool := range s.ReadThrough {
		set(tool, oracle.ReadThrough)
	}
	for _, tool := range s.Live {
		if slices.Contains(s.Refused, tool) {
			return nil, fmt.Errorf("tool %q is to be both live and refused", tool)
		}
		set(tool, oracle.ModeLive)
	}
	for _, tool := range s.Refused {
		set(tool, oracle.ModeError)
	}
	return rules, nil
}

func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return nil, fmt.Errorf("%s: %w", file, pathErr.Err)
	}
	return data, err
}
