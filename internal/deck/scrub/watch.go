// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
)

// Watch tells of tapes that somebody is about to look at or to hand on whether they hold what redaction
// should have replaced, by the rules of the gate. The zero Watch is ready, and safe for concurrent use.
//
// A tape is not searched again where the proof of its redaction holds: it lies in a deck, which it has not
// entered but through the gate, and it says that all of its evidence was redacted by a profile of this
// release, or by rules of the user's own, of which only the gate of that user knows what they leave. The
// proof is as good as the deck: who can write to it can forge it, and scrub and verify --secrets do not ask
// for it.
type Watch struct {
	once sync.Once
	gate *derive.Gate
	err  error
}

// MaxLook bounds what is searched of a tape that somebody looks at, in bytes. A longer one without a proof is
// said to be unsearched.
const MaxLook = 4 << 20

// Exposure is what a tape holds and should not.
type Exposure struct {
	Places   int            // values that were found
	Rules    map[string]int // that found them
	Policy   string         // by which the tape says that it was redacted
	TooLarge bool           // it was not searched
}

// Look returns what is known against a tape that somebody looks at, nil if nothing is. data is its file;
// inDeck says that it lies in a deck.
func (w *Watch) Look(t *tape.Tape, data []byte, inDeck bool) (*Exposure, error) {
	if inDeck && proved(&t.Redaction) {
		return nil, nil
	}
	if len(data) > MaxLook {
		return &Exposure{Policy: t.Redaction.Policy, TooLarge: true}, nil
	}
	return w.HandOn(t, data, nil, inDeck)
}

// HandOn is Look for a tape that leaves, together with parts of its evidence: nothing is too large.
func (w *Watch) HandOn(t *tape.Tape, data []byte, parts [][]byte, inDeck bool) (*Exposure, error) {
	if inDeck && proved(&t.Redaction) {
		return nil, nil
	}
	if w.once.Do(func() { w.gate, w.err = derive.NewGate(redact.Default()) }); w.err != nil {
		return nil, w.err
	}
	hits := w.gate.ScanFile(string(data))
	for _, part := range parts {
		set, err := evidence.FromPart(part)
		if err != nil {
			return nil, fmt.Errorf("search the evidence of run %s: %w", t.Run.RunID, err)
		}
		hits = append(hits, w.gate.ScanTraces(set.Traces())...)
	}
	if len(hits) == 0 {
		return nil, nil
	}
	e := &Exposure{Places: len(hits), Rules: map[string]int{}, Policy: t.Redaction.Policy}
	for _, hit := range hits {
		e.Rules[hit.Rule]++
	}
	return e, nil
}

// String says it as a line of text. It holds nothing that was found, nor anything else that a sender chose.
func (e *Exposure) String() string {
	by := "nothing has redacted it"
	if e.Policy != "" && e.Policy != policyNone {
		by = "it says that it was redacted"
	}
	if e.TooLarge {
		return fmt.Sprintf("this tape has no proof that it was redacted, and is too large to be searched for secrets here: %s; tapedeck verify --secrets searches it", by)
	}
	rules := make([]string, 0, len(e.Rules))
	for _, rule := range slices.Sorted(maps.Keys(e.Rules)) {
		rules = append(rules, fmt.Sprintf("%s %d", rule, e.Rules[rule]))
	}
	values := "1 value"
	if e.Places > 1 {
		values = fmt.Sprintf("%d values", e.Places)
	}
	return fmt.Sprintf("this tape holds %s that redaction should have replaced (%s): %s; tapedeck verify --secrets says where", values, strings.Join(rules, ", "), by)
}

// policyNone stands for evidence that no redaction has seen, customRules behind the name of a policy to which
// a user has added.
const (
	policyNone  = "none"
	customRules = "+custom"
)

// proved tells whether what a tape says of its redaction is a proof, in a deck.
func proved(r *tape.Redaction) bool {
	policies := strings.Split(r.Policy, ",")
	if slices.Contains(policies, policyNone) || slices.Contains(policies, "") {
		return false
	}
	if slices.ContainsFunc(policies, func(p string) bool { return strings.HasSuffix(p, customRules) }) {
		return r.ProfileDigest != ""
	}
	return !slices.ContainsFunc(strings.Split(r.ProfileDigest, ","), func(digest string) bool { return !isBuiltIn(digest) })
}

// builtIn are the digests of the profiles that this release brings, the commonest first: each costs a
// millisecond.
var builtIn = [...]func() string{
	digestOf(redact.Default(), redact.ModeToken), digestOf(redact.Default(), redact.ModeMask), digestOf(redact.Strict(), redact.ModeToken), digestOf(redact.Strict(), redact.ModeMask),
}

func digestOf(p redact.Profile, mode redact.Mode) func() string {
	p.Mode = mode
	return sync.OnceValue(p.Digest)
}

func isBuiltIn(digest string) bool {
	return digest != "" && slices.ContainsFunc(builtIn[:], func(known func() string) bool { return known() == digest })
}
