// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// In these traces no span names a parent.

func TestRunWithoutParentsIsPlacedByTime(t *testing.T) {
	delegated, looked := asks(call("c1", "expert", `{"question":"how high?"}`)), asks(call("c2", "look", `{"x":1}`))
	build := func(parents ...int) *trace {
		tr := newTrace()
		p := func(i int) int {
			if parents == nil {
				return 0
			}
			return parents[i]
		}
		tr.agent("clerk", 1, p(0), 0, 100, "gen_ai.input.messages", list(user("q")))
		tr.chat(2, p(1), 1, 10, list(user("q")), list(delegated))
		tr.tool("expert", 3, p(2), 11, 60, "c1", `{"question":"how high?"}`, "it is so")
		tr.agent("expert", 4, p(3), 12, 59, "gen_ai.input.messages", list(user("how high?")))
		tr.chat(5, p(4), 13, 20, list(user("how high?")), list(looked))
		tr.in("sdk", "create", 6, p(5), 14, 19, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1") // a further layer of the same call
		tr.tool("look", 7, p(6), 21, 30, "c2", `{"x":1}`, "r")
		tr.chat(8, p(7), 31, 40, list(user("how high?"), looked, shows("c2", "r")), list(says("it is so")))
		tr.chat(9, p(8), 70, 80, list(user("q"), delegated, shows("c1", "it is so")), list(says("end")))
		return tr
	}
	got, want := the(t, build().runs(t)), the(t, build(0, 1, 1, 3, 4, 5, 4, 4, 1).runs(t))
	if x, y := events(got), events(want); !slices.Equal(x, y) {
		t.Errorf("events\n%s\nwith parents\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
	}
	if !slices.Contains(codes(got), string(tape.CodeSpanGap)) {
		t.Errorf("findings %v, none says that times placed the spans", codes(got))
	}
}

// Attempts at the same task lie in each other's time. Whatever can be told of them, no run gets the calls of another.
func TestRunsAtTheSameTimeWithoutParentsAreNotMixed(t *testing.T) {
	for _, name := range []string{"same task, same answer", "same task", "other tasks", "one without an agent"} {
		t.Run(name, func(t *testing.T) {
			tr, second := newTrace(), spanID(10)
			for i := range 2 {
				task, answer := "q", "end"
				if strings.HasPrefix(name, "other") {
					task = fmt.Sprintf("task %d", i)
				}
				if !strings.HasSuffix(name, "same answer") {
					answer = fmt.Sprintf("end %d", i)
				}
				id := fmt.Sprintf("call_%d", i)
				ask := asks(call(id, "f", fmt.Sprintf(`{"x":%d}`, i)))
				if i == 0 || !strings.HasPrefix(name, "one") {
					tr.agent("clerk", 10*i+1, 0, 5*i, 100-5*i, "gen_ai.input.messages", list(user(task)), "gen_ai.output.messages", list(says(answer)))
				}
				tr.chat(10*i+2, 0, 10+i, 20+i, list(user(task)), list(ask))
				tr.tool("f", 10*i+3, 0, 30+i, 40+i, id, fmt.Sprintf(`{"x":%d}`, i), "r")
				tr.chat(10*i+4, 0, 50+i, 60+i, list(user(task), ask, shows(id, "r")), list(says(answer)))
			}
			for _, tp := range tr.runs(t) {
				attempts := map[bool]bool{}
				for _, e := range tp.Events {
					for _, id := range e.SpanIDs {
						attempts[id >= hex.EncodeToString(second[:])] = true
					}
				}
				if len(attempts) > 1 {
					t.Errorf("calls of both in one run: %v", events(tp))
				}
			}
		})
	}
}
