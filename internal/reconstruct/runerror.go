// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// runError is what the run span says went wrong, else the step that failed, else the last model call, else the last
// event that did.
func (o *outputFacts) runError(failed *node) *tape.Error {
	e := cmp.Or(o.run.Error, observed(failed).Error)
	if e == nil && o.last != nil {
		e = o.last.obs.Error
	}
	for i := len(o.tape.Events) - 1; e == nil && i >= 0; i-- {
		e = o.tape.Events[i].Error
	}
	return cmp.Or(e, &tape.Error{Message: fmt.Sprintf("the run ended with status %s", o.tape.Run.Status)})
}

// failedAround is the innermost step of the run around its last event that failed, else the agent span around that of
// the run: a runner that has nothing else below it tells how the run ended.
func (o *outputFacts) failedAround() *node {
	if len(o.ordered) == 0 {
		return nil
	}
	k := o.ordered[len(o.ordered)-1]
	if len(k.nodes) == 0 && k.by != nil {
		k = k.by.model
	}
	if len(k.nodes) == 0 {
		return nil
	}
	for n := range upward(k.nodes[0], func(n *node) bool { return n == o.root }) {
		if failedSpan(n) && n.obs.Class != genai.Tool && n.obs.Class != genai.Retrieval {
			return n
		}
	}
	if o.root == nil || o.root != o.fragment.root {
		return nil
	}
	for n := range upward(o.root, func(n *node) bool { return slices.Contains(o.fragment.heads, n) }) {
		if n.up != nil && failedSpan(n.up) && isAgent(n.up) {
			return n.up
		}
	}
	return nil
}

// sameWords reports two texts that are the same, or of which one holds the other. A few words stand in another text by
// chance: there all that is said besides is the class of an error.
func sameWords(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	return a == b && a != "" || min(len(a), len(b)) >= minQuoted && (strings.Contains(a, b) || strings.Contains(b, a)) || withoutClass(a) == b && b != "" || withoutClass(b) == a && a != ""
}

// withoutClass is what an error says behind its class: of "ToolError: timeout" the last word.
func withoutClass(text string) string {
	if class, rest, ok := strings.Cut(text, ": "); ok && isErrorClass.MatchString(class) {
		return strings.TrimSpace(rest)
	}
	return text
}

var isErrorClass = regexp.MustCompile(`^[\w.]*(Error|Exception)$`)
