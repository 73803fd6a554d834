// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TokenVerifier tells whether a keyed token stands for a secret. Token is the whole "[REDACTED:<rule>:<digest>]", live the text that
// stands in its place in the arguments of a live call. It must be safe for concurrent use.
type TokenVerifier interface {
	VerifyToken(token, live string) bool
}

// tokenForm is a keyed token or, without rule and digest, the plain mask.
var tokenForm = regexp.MustCompile(`\[REDACTED(?::[a-z0-9-]+:[a-z0-9]+)?\]`)

const plainMask = "[REDACTED]"

// verdict is how a redacted value relates to a live one. The worse of two parts is the verdict on the whole.
type verdict int

const (
	differs  verdict = iota // whatever the tokens stand for
	possible                // all that can be seen agrees, but a token could not be verified
	verified                // every token stands for the live text in its place
)

// holdsToken reports whether a token stands anywhere in the value, in a name included. A plain mask counts only if masks is set: where
// nothing says that a value was redacted, it is text.
func holdsToken(v exactjson.Value, masks bool) bool {
	if v.Kind() == exactjson.String {
		return tokenIn(v.Text(), masks)
	}
	for _, m := range v.Members() {
		if tokenIn(m.Name, masks) || holdsToken(m.Value, masks) {
			return true
		}
	}
	return false
}

func tokenIn(text string, masks bool) bool {
	if !strings.Contains(text, "[REDACTED") {
		return false
	}
	for _, token := range tokenForm.FindAllString(text, -1) {
		if masks || token != plainMask {
			return true
		}
	}
	return false
}

// tokenMatch compares redacted arguments with live ones. Its budget bounds the work: hostile values can be split in very many ways.
type tokenMatch struct {
	verifier TokenVerifier // may be nil
	left     int           // candidates that may still be tried, long ones counting for more
}

// Budgets of one query: a verification is an HMAC over a short text.
const (
	maxCandidates = 20_000
	maxTextLayers = 3 // JSON in a string in JSON in a string
)

func (m *tokenMatch) value(recorded, live exactjson.Value, layers int) verdict {
	switch recorded.Kind() {
	case exactjson.String:
		return m.leaf(recorded.Text(), live, layers)
	case exactjson.Array:
		if live.Kind() != exactjson.Array || live.Len() != recorded.Len() {
			return differs
		}
		worst := verified
		for i := range recorded.Len() {
			if worst = min(worst, m.value(recorded.At(i), live.At(i), layers)); worst == differs {
				return differs
			}
		}
		return worst
	case exactjson.Object:
		if live.Kind() != exactjson.Object || live.Len() != recorded.Len() {
			return differs
		}
		return m.object(recorded, live, layers)
	default:
		if recorded.Equal(live) {
			return verified
		}
		return differs
	}
}

// object compares the members with plain names first; those with a token in the name are then tried on what is left.
func (m *tokenMatch) object(recorded, live exactjson.Value, layers int) verdict {
	worst := verified
	var named []exactjson.Member
	taken := map[string]bool{}
	for _, r := range recorded.Members() {
		if tokenIn(r.Name, true) {
			named = append(named, r)
			continue
		}
		l := live.Get(r.Name)
		if l.IsAbsent() {
			return differs
		}
		taken[r.Name] = true
		if worst = min(worst, m.value(r.Value, l, layers)); worst == differs {
			return differs
		}
	}
	if len(named) == 0 {
		return worst
	}
	var left []exactjson.Member
	for _, l := range live.Members() {
		if !taken[l.Name] {
			left = append(left, l)
		}
	}
	return min(worst, m.assign(named, left, layers))
}

// assign gives each recorded member one of the live ones, and returns the best verdict of all ways to do so.
func (m *tokenMatch) assign(recorded, live []exactjson.Member, layers int) verdict {
	if len(recorded) == 0 {
		return verified
	}
	best := differs
	for i := range live {
		if m.left--; m.left < 0 {
			return possible
		}
		if live[i].Value.IsAbsent() { // given away
			continue
		}
		fit := min(m.text(recorded[0].Name, live[i].Name), m.value(recorded[0].Value, live[i].Value, layers))
		if fit == differs {
			continue
		}
		given := live[i]
		live[i] = exactjson.Member{}
		best = max(best, min(fit, m.assign(recorded[1:], live, layers)))
		live[i] = given
		if best == verified {
			return verified
		}
	}
	return best
}

// leaf compares a recorded text. A token alone may stand for a number, and a text may itself be JSON: the redactor looks inside and may
// spell it anew.
func (m *tokenMatch) leaf(recorded string, live exactjson.Value, layers int) verdict {
	if !tokenIn(recorded, true) {
		if live.Kind() == exactjson.String && live.Text() == recorded {
			return verified
		}
		return differs
	}
	if live.Kind() == exactjson.Number && tokenForm.FindString(recorded) == recorded {
		best := m.text(recorded, live.Text())
		if canonical, err := live.Canonical(); err == nil && canonical != live.Text() {
			best = max(best, m.text(recorded, canonical))
		}
		return best
	}
	if live.Kind() != exactjson.String {
		return differs
	}
	got := m.text(recorded, live.Text())
	if got == verified || layers == 0 || !looksLikeJSON(recorded) || !looksLikeJSON(live.Text()) {
		return got
	}
	inner, err := exactjson.Parse(recorded)
	if err != nil {
		return got
	}
	liveInner, err := exactjson.Parse(live.Text())
	if err != nil {
		return got
	}
	return max(got, m.value(inner, liveInner, layers-1))
}

func looksLikeJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// text compares a text that holds tokens with a live one. The text between the tokens must stand there in the live one too. In the places
// of the tokens must stand what they stand for.
func (m *tokenMatch) text(recorded, live string) verdict {
	var tokens, literals []string
	end := 0
	for _, at := range tokenForm.FindAllStringIndex(recorded, -1) {
		literals = append(literals, recorded[end:at[0]])
		tokens = append(tokens, recorded[at[0]:at[1]])
		end = at[1]
	}
	literals = append(literals, recorded[end:])
	rest, ok := strings.CutPrefix(live, literals[0])
	if !ok {
		return differs
	}
	return m.split(tokens, literals[1:], rest)
}

// split tries every place where the literal behind the first token may stand.
func (m *tokenMatch) split(tokens, literals []string, live string) verdict {
	if len(tokens) == 0 {
		if live == "" {
			return verified
		}
		return differs
	}
	literal := literals[0]
	if len(tokens) == 1 {
		secret, ok := strings.CutSuffix(live, literal)
		if !ok {
			return differs
		}
		return m.token(tokens[0], secret)
	}
	best := differs
	for at := 1; at <= len(live); at++ { // a secret is not empty
		next := strings.Index(live[at:], literal)
		if next < 0 {
			return best
		}
		at += next
		if m.left -= next >> 10; m.left < 0 {
			return max(best, possible)
		}
		if fit := m.token(tokens[0], live[:at]); fit != differs {
			best = max(best, min(fit, m.split(tokens[1:], literals[1:], live[at+len(literal):])))
		}
		if best == verified {
			return verified
		}
	}
	return best
}

// token compares one token with what stands in its place. The agent may have read the token in an earlier answer and send it itself.
func (m *tokenMatch) token(token, live string) verdict {
	if m.left -= 1 + len(live)>>6; m.left < 0 {
		return possible
	}
	switch {
	case live == "":
		return differs
	case token == plainMask:
		return possible
	case live == token, sameSecret(live, token):
		return verified
	case m.verifier == nil:
		return possible
	case m.verifier.VerifyToken(token, live):
		return verified
	default:
		return differs
	}
}

// sameSecret reports that two keyed tokens have one digest. The rule that finds a secret depends on what
// stands around it: one value may be found by another rule in a file than in what a tool says of the file.
func sameSecret(a, b string) bool {
	digest := func(token string) string {
		if tokenForm.FindString(token) != token || token == plainMask {
			return ""
		}
		return token[strings.LastIndexByte(token, ':'):]
	}
	return digest(a) != "" && digest(a) == digest(b)
}

// VerifiedRedaction reports that a recorded value holds tokens in place of what was redacted, that all else is equal, and that each token
// stands for the live text in its place. Without a verifier only tokens that the live value holds too are verified.
func VerifiedRedaction(recorded, live exactjson.Value, verifier TokenVerifier) bool {
	m := tokenMatch{verifier: verifier, left: maxCandidates}
	return holdsToken(recorded, false) && m.value(recorded, live, maxTextLayers) == verified
}
