// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// excerptCells is how much of the two sides of a difference a headline shows.
const excerptCells = 60

// headline says where a replay left the recording, by the first model call that was not served: which
// recorded event it stands for, and what is different. It is empty where all were served, and where the runs
// parted before: then the comparison says more.
func headline(calls []*modelstub.Call, of string, c *compare.Result) string {
	for _, call := range calls {
		if call.Outcome.Served() || call.Outcome == modelstub.Live || call.Outcome == modelstub.Unsupported {
			continue
		}
		seq, run, what := call.Seq, call.Run, ""
		switch d := call.Nearest; {
		case call.Outcome == modelstub.Exhausted:
			what = "the model was asked once more than recorded"
		case call.Outcome == modelstub.Unservable:
			what = "the recorded answer of the model is " + call.Reason
		case d == nil:
			return ""
		default:
			seq, run, what = d.Seq, d.Run, differs(d)
		}
		if run != of {
			continue
		}
		if parted(c, seq) {
			return ""
		}
		return fmt.Sprintf("The replay parts at event %d of A: %s.", seq, what)
	}
	return ""
}

// parted reports that the runs differ at an earlier event, which both have.
func parted(c *compare.Result, seq int) bool {
	return c != nil && c.First != nil && c.First.Kind == compare.Changed && c.First.A.Seq < seq
}

// differs says what is different in a request.
func differs(d *modelstub.Difference) string {
	where := placeWords(d.Place)
	switch {
	case d.Place == "previous_response_id":
		return where
	case d.Recorded == "" && d.Live == "":
		return where + " differs"
	}
	side := func(text string) string {
		if strings.TrimSpace(text) == "" {
			return "nothing"
		}
		return "“" + timeline.Short(text, excerptCells) + "”"
	}
	return fmt.Sprintf("%s differs: %s → %s", where, side(d.Recorded), side(d.Live))
}

var placeForm = regexp.MustCompile(`^(\d+)(?:\.(user|assistant)(?:\.(calls|media)(?:\.(\d+)(?:\.(args|result))?)?)?)?$`)

// placeWords names a place of a request for a person.
func placeWords(place string) string {
	switch place {
	case "system_prompt":
		return "the system prompt"
	case "model":
		return "the model that is asked"
	case "tools":
		return "what tools are offered"
	case "previous_response_id":
		return "the request goes on after an answer that nobody gave"
	}
	m := placeForm.FindStringSubmatch(place)
	if m == nil {
		return place
	}
	message := "message " + m[1] + " of the request"
	switch number, role, kind, call, field := m[1], m[2], m[3], m[4], m[5]; {
	case field != "":
		return map[string]string{"args": "what call ", "result": "what came of call "}[field] + call + " in " + message + map[string]string{"args": " asks for"}[field]
	case call != "":
		return "call " + call + " in " + message
	case kind == "calls":
		return "what " + message + " asks for"
	case kind == "media":
		return "the media of " + message
	case role == "user" && number == "1":
		return "what the user asked"
	case role == "user":
		return "what the user said in " + message
	case role == "assistant":
		return "the text of the model in " + message
	}
	return message
}
