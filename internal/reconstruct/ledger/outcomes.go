// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// Returned reports that a later request shows, for the requested call, what the tool returned: as it is, or
// one of the two within an envelope.
func Returned(t *Call, a *Asked) bool {
	if a.Shown == nil || a.Shown.Label != "" || t.Obs.Result.Value.IsEmpty() {
		return false
	}
	held, shown := t.Obs.Result.Value, a.Shown.Result
	return ReturnedJust(t, a) || t.Obs.Result.Present() && chat.Undamaged(t.Obs.Result.Label) &&
		(chat.PathTo(shown, held, chat.MaxEnvelopes, chat.Room(held)) != nil || chat.PathTo(held, shown, chat.MaxEnvelopes, chat.Room(shown)) != nil)
}

// ReturnedJust reports that a later request shows just what the tool returned, however little that is.
func ReturnedJust(t *Call, a *Asked) bool {
	return t.Obs.Result.Present() && chat.Undamaged(t.Obs.Result.Label) && chat.SameContent(t.Obs.Result.Value, a.Shown.Result)
}

// FailedAs reports that a later request shows, for the requested call, how the tool failed: the first line of
// its error.
func FailedAs(t *Call, a *Asked) bool {
	if a.Shown == nil || a.Shown.Label != "" || t.Obs.Result.Present() || t.Obs.Error == nil {
		return false
	}
	how, told := firstLine(t.Obs.Error.Message), firstLine(a.Shown.Result.Str())
	return how != "" && chat.SameWords(told, how)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
