// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/normalise"
)

// blocks begin the parts in which programs tell a model of their environment, within what they send as the
// words of a user.
var blocks = regexp.MustCompile(`<(environment_context|environment_details|environment|env|system-reminder|system_reminder|reminder|current_datetime|session_context|context|user_info|workspace_info|additional_context|git_status)(?:\s[^<>]{0,200})?>`)

// maxBlocks bounds the blocks and the repetitions of the question of one text.
const maxBlocks = 256

// around lists what a program has written of a text that it sends as the words of a user: blocks that tell of
// the environment, and, where the text holds what the run was asked, what stands around that. What a user
// says, and what nobody can tell from it, is left out.
func (s *Stub) around(text string) (ranges [][2]int) {
	asked := ""
	for _, t := range s.tapes {
		if said := t.Input.UserMessage; said != nil && len(*said) > len(asked) && strings.Contains(text, strings.TrimSpace(*said)) {
			asked = strings.TrimSpace(*said)
		}
	}
	if asked != "" {
		end := 0
		for range maxBlocks {
			at := strings.Index(text[end:], asked)
			if at < 0 {
				break
			}
			ranges = append(ranges, [2]int{end, end + at})
			end += at + len(asked)
		}
		ranges = append(ranges, [2]int{end, len(text)})
	}
	return append(ranges, Blocks(text)...)
}

// Blocks lists the parts of a text in which a program tells a model of its environment.
func Blocks(text string) (ranges [][2]int) {
	for _, m := range blocks.FindAllStringSubmatchIndex(text, maxBlocks) {
		if end := strings.Index(text[m[1]:], "</"+text[m[2]:m[3]]+">"); end >= 0 {
			ranges = append(ranges, [2]int{m[1], m[1] + end})
		}
	}
	return ranges
}

// contradiction says which name of a conversation that agrees with a turn has another name in the replay
// already.
func (s *Stub) contradiction(n *turn, names *normalise.Renaming, pairs []normalise.Pair) *Difference {
	d := &Difference{Seq: n.event.Seq, Run: s.run(n), Place: "renaming"}
	if p := names.Contradicted(pairs); p != nil {
		d.Recorded, d.Live = p.Recorded, p.Live
	}
	return d
}

// Renamed counts the values of a form that are others in a replay than in the recording and were taken for
// equal.
type Renamed struct {
	Form   string `json:"form"`
	Values int    `json:"values"`
	// Recorded and Live are one of them.
	Recorded string `json:"recorded"`
	Live     string `json:"live"`
}

// renamed counts what a replay renamed, by form.
func (o *Options) renamed(names *normalise.Renaming) (list []Renamed) {
	for _, p := range names.Pairs() {
		at := slices.IndexFunc(list, func(r Renamed) bool { return r.Form == p.Form })
		if at < 0 {
			at = len(list)
			list = append(list, Renamed{Form: p.Form, Recorded: p.Recorded, Live: o.mask(p.Live)})
		}
		list[at].Values++
	}
	return list
}
