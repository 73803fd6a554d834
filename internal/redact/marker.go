// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"sync"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

// Marker returns what the redactor's evidence is marked with.
func (r *Redactor) Marker() handover.Marker {
	m := handover.Marker{Policy: r.profile.Label(), ProfileDigest: r.digest}
	if r.profile.key != nil {
		m.KeyID = r.profile.key.ID()
	}
	return m
}

// sealed are the redactors of this process by their markers.
var sealed sync.Map // handover.Marker → *Redactor

// Seal returns the sealed marker of the redactor. It also makes the redactor known in this process for what belongs to marked evidence and
// does not pass through it: the metadata of a request.
func (r *Redactor) Seal() string {
	m := r.Marker()
	sealed.Store(m, r)
	if r.detector.Remembers() {
		searchers.Store(r.proof.profile, r.detector)
	}
	return m.Seal()
}

// ByMarker returns the redactor of this process that wrote the marker, nil if none did. Those with the same marker do the same.
func ByMarker(m handover.Marker) *Redactor {
	r, _ := sealed.Load(m)
	found, _ := r.(*Redactor)
	return found
}
