// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package handover

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

// The marker passes from agentredaction to agentrun as a resource attribute. A sender must not be able to write it, so trust does not hang
// on the namespace alone:
//
//   - agentredaction removes every tapedeck.* attribute that comes in before it writes its own. So what passes through it carries no
//     marker but its own.
//   - Telemetry that does not pass through it could carry a marker that a sender has written. So the marker holds a proof: an HMAC over
//     its other members under a secret that the process draws at random when it starts. The secret stays in the process. The proof stands
//     only in markers, which agentrun takes off.
//   - agentrun reads the marker with OpenMarker and strips it with the rest of the namespace. A marker without the proof of this process
//     counts as none.
//
// The proof says that a redactor of this process has seen the resource. It does not say that nobody has added a span to it since: the same
// operator chooses what stands between the two processors. Collectors in a chain do not pass the marker on. The last one redacts again,
// which changes nothing. An operator who knows what stands before it can tell it redaction: none instead.

// Marker says which redaction evidence has seen. It fills the member redaction of a tape. The rules that hit and their count are counted
// from the tokens in the evidence (Tokens), so a tape stays a function of its evidence.
type Marker struct {
	Policy        string // the label of the profile, see redact.Profile
	ProfileDigest string
	KeyID         string // of the key that tokens are made with
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

// sealed are the markers that this process has sealed, by the text of their attribute: a marker is opened for every resource, several times, and there are
// as many as redactors. A text that is not among them has no proof of this process. Whoever guesses learns nothing from how long the look takes: only a text
// with the same hash, under a secret of the process too, is compared.
var sealed sync.Map // string → sealedMarker

type sealedMarker struct {
	marker Marker
	text   string // without the proof
}

// Seal returns the text of the attribute: the marker and its proof.
func (m Marker) Seal() string {
	text := m.String()
	seal := text + ";proof=" + m.proof()
	sealed.Store(seal, sealedMarker{m, text})
	return seal
}

// MarkerOf returns the marker of a resource that lies in evidence, where markers have no proof. It is false when no redaction has seen
// the resource.
func MarkerOf(resource pcommon.Map) (Marker, bool) {
	m, err := ParseMarker(textOf(resource, Redaction))
	return m, err == nil
}

// Write puts the marker on a resource, without a proof.
func (m Marker) Write(resource pcommon.Map) { resource.PutStr(Redaction, m.String()) }

// CopyMarker gives a resource the marker of another as it stands, with its proof if it has one.
func CopyMarker(from, to pcommon.Map) {
	if v, ok := from.Get(Redaction); ok {
		v.CopyTo(to.PutEmpty(Redaction))
	}
}

// OpenMarker returns the marker of a resource, and whether a redactor of this process wrote it. It does not remove it.
func OpenMarker(resource pcommon.Map) (Marker, bool) {
	m, ok := open(resource)
	return m.marker, ok
}

// Unseal takes the proof from the marker of a resource, and reports whether it was that of this process.
func Unseal(resource pcommon.Map) bool {
	m, ok := open(resource)
	if ok {
		resource.PutStr(Redaction, m.text)
	}
	return ok
}

func open(resource pcommon.Map) (m sealedMarker, ok bool) {
	if v, there := sealed.Load(textOf(resource, Redaction)); there {
		m, ok = v.(sealedMarker)
	}
	return m, ok
}
