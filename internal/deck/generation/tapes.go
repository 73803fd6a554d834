// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// ErrUnderivable is returned, wrapped, when no tape can be made from the evidence. Trying again will not
// help.
var ErrUnderivable = errors.New("no tape can be made")

// ErrNoRun is returned, wrapped with the reason, for evidence that holds no run.
var ErrNoRun = errors.New("no run")

// ErrUnread is the ErrNoRun of evidence that holds model input or output: somebody will miss the run.
var ErrUnread = fmt.Errorf("%w although spans hold content", ErrNoRun)

// Derived is the result of a derivation.
type Derived struct {
	Generation deck.Generation
	Tapes      []*tape.Tape
	Runs       []deck.RunFiles // of the tapes
	Naming     []genai.Verdict // that name a run by an id, where the trace has none
}

// WithoutTapes is what rows say of a derivation that gave no tape, and never will. Other errors are returned.
func WithoutTapes(d *Derived, err error) (*Derived, error) {
	if err == nil || !errors.Is(err, ErrNoRun) && !errors.Is(err, ErrUnderivable) {
		return d, err
	}
	if d == nil {
		d = &Derived{Generation: deck.Generation{Revision: Revision}}
	}
	d.Tapes = nil
	return d, nil
}

// Derive makes the tapes of a trace from its parts. The error is ErrNoRun, ErrUnderivable or one of read.
// With the first two, the result is not nil as far as the generation is known.
func (d *Deriver) Derive(tenant, traceID string, parts []string, read func(digest string) ([]byte, error)) (_ *Derived, err error) {
	defer Recovered(&err, ErrUnderivable, traceID)
	e := &Evidence{Tenant: tenant, TraceID: traceID}
	if err := d.Unite(e, parts, "", nil, read); err != nil {
		return nil, err
	}
	return d.derived(e, new([]byte))
}

// DerivePart makes the tapes of the part that e.Set holds, and leaves in e what the bounds let through. The
// bodies of the files lie in text, which is replaced if it is too small.
func (d *Deriver) DerivePart(e *Evidence, part string, text *[]byte) (_ *Derived, err error) {
	defer Recovered(&err, ErrUnderivable, e.TraceID)
	if err := d.Unite(e, []string{part}, part, e.Set, nil); err != nil {
		return nil, err
	}
	return d.derived(e, text)
}

func (d *Deriver) derived(e *Evidence, text *[]byte) (*Derived, error) {
	tapes, reason, err := d.Tapes(e)
	made := &Derived{Generation: d.Name(d.Items(e), e.All)}
	if err != nil {
		return made, err
	}
	if len(tapes) == 0 {
		made.Naming = e.Set.NamingVerdicts()
		return made, NoRun(e, reason)
	}
	made.Tapes = tapes
	made.Runs, *text, err = d.Render((*text)[:0], tapes)
	return made, err
}

// Tapes reconstructs the runs of a trace. Where it finds none, it returns the reason.
func (d *Deriver) Tapes(e *Evidence) (tapes []*tape.Tape, reason string, err error) {
	defer Recovered(&err, ErrUnderivable, e.TraceID)
	d.Stage(StageReconstruct)
	tapes, reason = reconstruct.Trace(d.trace(e), d.reconstruction(e.Tenant))
	return tapes, reason, nil
}

// NoRun is the error about evidence that holds no run.
func NoRun(e *Evidence, reason string) error {
	cause := ErrNoRun
	if e.Set.HoldsContent() {
		cause = ErrUnread
	}
	return fmt.Errorf("%w in trace %s: %s", cause, e.TraceID, reason)
}

// Join reconstructs the runs that several traces of a tenant hold together.
func (d *Deriver) Join(tenant string, list []*Evidence) (joined []reconstruct.Joined, err error) {
	defer Recovered(&err, ErrUnderivable, list[0].TraceID)
	traces := make([]evidence.Trace, len(list))
	for i, e := range list {
		traces[i] = d.trace(e)
	}
	return reconstruct.Join(traces, d.reconstruction(tenant)), nil
}

func (d *Deriver) reconstruction(tenant string) reconstruct.Options {
	return reconstruct.Options{
		Producer: d.Producer, Tenant: tenant, Redaction: tape.Redaction{Policy: "none"}, Replay: d.Replay,
		Choice: rule.Choice{Explain: d.Explained != nil}, Explained: d.Explained,
	}
}

// Render seals tapes and makes their files. The bodies may lie in text, which is returned with its new size.
func (d *Deriver) Render(text []byte, tapes []*tape.Tape) ([]deck.RunFiles, []byte, error) {
	formats := d.Formats
	if len(tapes) > 1 && !slices.Contains(formats, FormatOracle) {
		formats = append(slices.Clone(formats), FormatOracle)
	}
	d.Stage(StageRender)
	runs := make([]deck.RunFiles, len(tapes))
	for i, t := range tapes {
		var files []deck.File
		var err error
		if files, text, err = Files(text, t, formats); err != nil {
			return nil, text, fmt.Errorf("%w for run %s: %w", ErrUnderivable, t.Run.RunID, err)
		}
		runs[i] = deck.RunFiles{Root: t.Run.RootSpanID, Files: files}
	}
	return runs, text, nil
}
