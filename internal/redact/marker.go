// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The marker passes from agentredaction to agentrun as a resource attribute. A sender must not be able to write it, so trust does not
// hang on the namespace alone:
//
//   - agentredaction removes every tapedeck.* attribute that comes in before it writes its own: what passes through it carries no
//     marker but its own.
//   - What does not pass through it could carry a marker that a sender has written. So the marker holds a proof, an HMAC over its
//     other members under a secret that the process draws at random when it starts. It never leaves the process but inside of
//     markers, which agentrun takes off.
//   - agentrun reads the marker with OpenMarker and strips it with the rest of the namespace. A marker without the proof of this
//     process counts as none.
//
// The proof says that a redactor of this process has seen the resource, not that nobody has added a span to it since: what stands
// between the two processors is chosen by the same operator. Collectors in a chain do not pass the marker on; the last one redacts
// again (which changes nothing), or is told redaction: none by the operator who knows what stands before it.

// MarkerKey is the resource attribute.
const MarkerKey = "tapedeck.redaction"

// ReservedPrefix is the namespace of attributes that only components of this project write.
const ReservedPrefix = "tapedeck."

// Marker says which redaction evidence has seen. It fills the member redaction of a tape; the rules that hit and their count are
// counted from the tokens in the evidence (Tokens), so that a tape stays a function of its evidence.
type Marker struct {
	Policy        string // Profile.Label
	ProfileDigest string // Profile.Digest
	KeyID         string // Key.ID
}

// Marker returns what the redactor's evidence is marked with.
func (r *Redactor) Marker() Marker {
	m := Marker{Policy: r.profile.Label(), ProfileDigest: r.digest}
	if r.key != nil {
		m.KeyID = r.key.ID()
	}
	return m
}

// String is the form without a proof, as evidence may keep it: default;profile=sha256:…;key=….
func (m Marker) String() string {
	return url.QueryEscape(m.Policy) + ";profile=" + url.QueryEscape(m.ProfileDigest) + ";key=" + url.QueryEscape(m.KeyID)
}

// ParseMarker reads what String has written.
func ParseMarker(text string) (Marker, error) {
	var m Marker
	parts := strings.Split(text, ";")
	if len(parts) != 3 {
		return m, errors.New("redaction marker: not three members")
	}
	for i, member := range []struct {
		prefix string
		to     *string
	}{{"", &m.Policy}, {"profile=", &m.ProfileDigest}, {"key=", &m.KeyID}} {
		value, ok := strings.CutPrefix(parts[i], member.prefix)
		if !ok {
			return Marker{}, fmt.Errorf("redaction marker: member %d is not %s", i+1, member.prefix)
		}
		v, err := url.QueryUnescape(value)
		if err != nil {
			return Marker{}, fmt.Errorf("redaction marker: member %d: %w", i+1, err)
		}
		*member.to = v
	}
	return m, nil
}

// processSecret proves that a marker was written by this process.
var processSecret = sync.OnceValue(func() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return secret
})

func (m Marker) proof() string {
	h := hmac.New(sha256.New, processSecret())
	h.Write([]byte(m.String()))
	return hex.EncodeToString(h.Sum(nil))
}

// Seal returns the text of the attribute: the marker and its proof.
func (m Marker) Seal() string { return m.String() + ";proof=" + m.proof() }

// sealed are the redactors of this process by their markers.
var sealed sync.Map // Marker → *Redactor

// Seal returns the sealed marker of the redactor, and makes the redactor known in this process for what belongs to marked evidence and does
// not pass through it: the metadata of a request.
func (r *Redactor) Seal() string {
	m := r.Marker()
	sealed.Store(m, r)
	return m.Seal()
}

// Redactor returns the redactor of this process that wrote the marker, nil if none did. Those with the same marker do the same.
func (m Marker) Redactor() *Redactor {
	r, _ := sealed.Load(m)
	found, _ := r.(*Redactor)
	return found
}

// OpenMarker returns the marker of a resource, and whether a redactor of this process wrote it. It does not remove it.
func OpenMarker(resource pcommon.Map) (Marker, bool) {
	v, ok := resource.Get(MarkerKey)
	if !ok || v.Type() != pcommon.ValueTypeStr {
		return Marker{}, false
	}
	text, proof, ok := strings.Cut(v.Str(), ";proof=")
	if !ok {
		return Marker{}, false
	}
	m, err := ParseMarker(text)
	if err != nil || !hmac.Equal([]byte(proof), []byte(m.proof())) {
		return Marker{}, false
	}
	return m, true
}

// StripReserved removes the attributes of the reserved namespace and returns how many there were.
func StripReserved(m pcommon.Map) int {
	n := 0
	for k := range m.All() {
		if strings.HasPrefix(k, ReservedPrefix) {
			n++
		}
	}
	if n > 0 {
		m.RemoveIf(func(k string, _ pcommon.Value) bool { return strings.HasPrefix(k, ReservedPrefix) })
	}
	return n
}
