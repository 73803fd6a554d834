// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
)

const exposing = `{"kind":"tape","input":{"user_message":"mail jane.doe@corp-mail.com and bob.roe@corp-mail.com"}}`

func masked(p redact.Profile) redact.Profile {
	p.Mode = redact.ModeMask
	return p
}

// What spares a tape a search is that it lies in a deck and that all of its evidence was redacted by a
// profile that is known, or by rules of the user's own.
func TestATapeIsSearchedWhereNothingProvesItsRedaction(t *testing.T) {
	today, strict, custom := redact.Default(), redact.Strict(), redact.Default()
	custom.Allow.Values = []string{"jane.doe@corp-mail.com"}
	for name, c := range map[string]struct {
		policy, digest string
		outside        bool // of a deck
		searched       bool
	}{
		"default":                 {policy: "default", digest: today.Digest()},
		"default, masked":         {policy: "default", digest: masked(today).Digest()},
		"strict":                  {policy: "strict", digest: strict.Digest()},
		"two profiles":            {policy: "default,strict", digest: today.Digest() + "," + strict.Digest()},
		"rules of the user":       {policy: custom.Label(), digest: custom.Digest()},
		"one that is unknown":     {policy: "default,strict", digest: today.Digest() + ",sha256:1", searched: true},
		"rules of another time":   {policy: "default", digest: "sha256:1", searched: true},
		"nothing redacted it":     {policy: "none", searched: true},
		"in part":                 {policy: "default,none", digest: today.Digest(), searched: true},
		"rules of the user, part": {policy: custom.Label() + ",none", digest: custom.Digest(), searched: true},
		"it says nothing":         {searched: true},
		"no digest":               {policy: "default", searched: true},
		"no digest, custom":       {policy: "default+custom", searched: true},
		"a file":                  {policy: "default", digest: today.Digest(), outside: true, searched: true},
	} {
		var w Watch
		of := &tape.Tape{Redaction: tape.Redaction{Policy: c.policy, ProfileDigest: c.digest}}
		e, err := w.Look(of, []byte(exposing), !c.outside)
		if err != nil || (e != nil) != c.searched {
			t.Errorf("%s: %v, %v", name, e, err)
		}
		if e != nil && (e.Places != 2 || e.Rules["email"] != 2 || strings.Contains(e.String(), "jane") || !strings.Contains(e.String(), "2 values") || strings.Contains(e.String(), "nothing has") != (c.policy == "" || c.policy == "none")) {
			t.Errorf("%s: %s", name, e)
		}
		if e, err := w.Look(of, []byte(`{"kind":"tape"}`), !c.outside); e != nil || err != nil {
			t.Errorf("%s: a tape without secrets: %v, %v", name, e, err)
		}
		if e, err := w.HandOn(of, []byte(`{}`), [][]byte{[]byte("no evidence")}, !c.outside); e != nil || (err != nil) != c.searched {
			t.Errorf("%s: evidence that cannot be read: %v, %v", name, e, err)
		}
	}
}

func TestATapeThatIsTooLargeToLookAtIsSearchedBeforeItLeaves(t *testing.T) {
	large := []byte(strings.Replace(exposing, `"kind"`, strings.Repeat(" ", MaxLook)+`"kind"`, 1))
	var w Watch
	e, err := w.Look(&tape.Tape{}, large, true)
	if err != nil || e == nil || !e.TooLarge || !strings.Contains(e.String(), "too large") {
		t.Errorf("%v, %v", e, err)
	}
	if e, err := w.HandOn(&tape.Tape{}, large, nil, true); err != nil || e == nil || e.Places != 2 {
		t.Errorf("%v, %v", e, err)
	}
}
