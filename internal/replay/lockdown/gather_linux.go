// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// Bounds of what is told apart: a command chooses what it starts.
const (
	maxPrograms = 1000
	maxConnects = 1000
	maxLine     = 1 << 20 // of what the first process inside tells
)

// sighting is what the first process inside tells, a line of JSON each.
type sighting struct {
	Watched bool     `json:"watched,omitempty"`
	Why     string   `json:"why,omitempty"`
	Path    string   `json:"path,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Connect string   `json:"connect,omitempty"`
}

// gather takes in sightings until they end.
func gather(r io.Reader) (s Seen) {
	s.Connects = map[string]int{}
	at := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		var of sighting
		if err := json.Unmarshal(lines.Bytes(), &of); err != nil {
			s.Watched, s.Why = false, "what was seen cannot be read"
			continue
		}
		switch {
		case of.Watched:
			s.Watched = true
		case of.Why != "":
			s.Watched, s.Why = false, of.Why
		case of.Connect != "":
			if _, known := s.Connects[of.Connect]; !known && len(s.Connects) >= maxConnects {
				s.Cut = true
				continue
			}
			s.Connects[of.Connect]++
		case of.Path != "":
			s.Started++
			key := strings.Join(append([]string{of.Path}, of.Argv...), "\x00")
			if i, known := at[key]; known {
				s.Programs[i].Count++
				continue
			}
			if len(s.Programs) >= maxPrograms {
				s.Cut = true
				continue
			}
			at[key] = len(s.Programs)
			s.Programs = append(s.Programs, Program{of.Path, of.Argv, 1})
		}
	}
	if err := lines.Err(); err != nil {
		s.Watched, s.Why = false, err.Error()
		_, _ = io.Copy(io.Discard, r) // who writes must not wait
	}
	return s
}
