// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"strings"
)

// returned reports that a later request shows, for the requested call, what the tool returned: as it is, or one of
// the two within an envelope.
func returned(t *call, a *asked) bool {
	if a.shown == nil || a.shown.Label != "" || t.obs.Result.Value.IsEmpty() {
		return false
	}
	held, shown := t.obs.Result.Value, a.shown.Result
	return returnedJust(t, a) || t.obs.Result.Present() && undamaged(t.obs.Result.Label) &&
		(pathTo(shown, held, maxEnvelopes, room(held)) != nil || pathTo(held, shown, maxEnvelopes, room(shown)) != nil)
}

// returnedJust reports that a later request shows just what the tool returned, however little that is.
func returnedJust(t *call, a *asked) bool {
	return t.obs.Result.Present() && undamaged(t.obs.Result.Label) && sameContent(t.obs.Result.Value, a.shown.Result)
}

// failedAs reports that a later request shows, for the requested call, how the tool failed: the first line of its
// error.
func failedAs(t *call, a *asked) bool {
	if a.shown == nil || a.shown.Label != "" || t.obs.Result.Present() || t.obs.Error == nil {
		return false
	}
	how, told := firstLine(t.obs.Error.Message), firstLine(a.shown.Result.Str())
	return how != "" && sameWords(told, how)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
