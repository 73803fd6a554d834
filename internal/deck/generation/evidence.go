// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

// Evidence is what a derivation takes in of one trace.
type Evidence struct {
	Tenant  string
	TraceID string
	Set     *evidence.Set
	// All names all parts of the trace, Parts those that Set is made of.
	All, Parts []string
	// Cut says that the bounds left evidence out.
	Cut bool
}

// Unite fills Set with the parts that are named, within the bounds. The part named own is known already; read
// returns the others.
func (d *Deriver) Unite(e *Evidence, parts []string, own string, known *evidence.Set, read func(digest string) ([]byte, error)) error {
	e.All, e.Parts = parts, parts
	d.Stage(StageUnite)
	if most := d.Bounds.Parts; len(e.Parts) > most {
		e.Parts, e.Cut = e.Parts[:most], true
	}
	u := evidence.NewUnion(evidence.Bounds{Items: d.Bounds.Items, Bytes: d.Bounds.Bytes}, d.Replay)
	for _, digest := range e.Parts {
		if digest == own {
			u.Add(known)
			continue
		}
		body, err := read(digest)
		if err != nil {
			return fmt.Errorf("read part %s of trace %s: %w", digest, e.TraceID, err)
		}
		other, err := evidence.FromPart(body)
		if err != nil {
			return fmt.Errorf("part %s of trace %s: %w", digest, e.TraceID, err)
		}
		u.Add(other)
	}
	set, cut := u.Set()
	e.Set, e.Cut = set, e.Cut || cut
	return nil
}

// Items is the number of items in the name of the generation. It never falls when evidence arrives: evidence
// that is cut counts more than any that is whole, and grows by parts.
func (d *Deriver) Items(e *Evidence) int {
	if e.Cut {
		return d.Bounds.Items + len(e.All)
	}
	return e.Set.Len()
}

func (d *Deriver) trace(e *Evidence) evidence.Trace {
	t := evidence.Trace{TraceID: e.TraceID, Set: e.Set}
	if e.Cut {
		t.Cut = d.Bounds.String()
	}
	return t
}
