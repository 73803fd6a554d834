// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package derive turns the evidence of a trace into what lies in the deck: its part, and a generation of
// tapes made from all parts. The tape exporter and the command line call the same Writer, so both write the
// same bytes.
package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

// Options configure a Writer.
type Options struct {
	generation.Options
	// Accept limits which traces the writer may begin.
	Accept Accept
	// Gate searches everything before it is written; nil writes everything as it is. It changes no output.
	Gate *Gate
	// EvidenceAlone keeps the tapes out of reels: whoever reads derives them. It changes no output.
	EvidenceAlone bool
	// Keep says which runs keep their content; nil keeps all. A run that is dropped leaves a row without
	// content in a deck of reels, and nothing in one of files.
	Keep *keep.Config
	// Warn is called with errors that did no harm; nil is nobody.
	Warn func(error)
}

// Writer writes evidence and tapes into a deck. It is safe for concurrent use.
type Writer struct {
	deck    *deck.Deck
	options Options
	deriver *generation.Deriver
	turns   turns
	kept    keptRuns
}

// The stages of a delivery at which evidence is read, beside those of a derivation.
const (
	stageEncode    = "encode"
	stageGate      = "gate"
	stageGateFiles = "gate files"
)

// NewWriter returns a Writer for the deck.
func NewWriter(d *deck.Deck, o Options) *Writer {
	w := &Writer{deck: d, options: o, deriver: generation.New(o.Options)}
	w.options.Options = w.deriver.Options
	return w
}

// Request is the evidence of one trace, all of it or what is new.
type Request struct {
	Tenant  string
	TraceID string
	Set     *evidence.Set
	// Complete says that the runs of the trace have ended as far as anyone can know. Evidence that is not
	// complete lies under undecided/ until the rest comes.
	Complete bool
	// First says that nothing of the trace was passed on before, as far as the sender knows. It saves looking
	// into the deck beforehand; an error in it costs work and changes nothing that is written.
	First bool
	// Late says that the sender has passed on other evidence of the trace before.
	Late bool
	// Idle, if there is one, is called when nothing is left to do but to wait for other traces, with which
	// this one shares an object.
	Idle func()
	// GoesOn says that the sender brings other traces whether this one is durable or not, so that it is worth
	// waiting for them.
	GoesOn bool
}

// Written describes one tape.
type Written struct {
	RunID     string
	TraceID   string
	URL       string
	Status    tape.RunStatus
	Grade     tape.Grade
	Events    int
	ToolCalls int
	Findings  int
}

// ErrDefect is returned, wrapped, when a defect of this program keeps it from taking the evidence. Nothing of
// the evidence has been stored yet. The sender has to keep it.
var ErrDefect = errors.New("a defect in this program")

// Stored is the evidence of one trace, durable and united with what the deck held of it.
type Stored struct {
	generation.Evidence
	// Placement tells where it lies.
	Placement Placement
	// Keep tells why the content was kept, or that it was dropped; empty without a policy.
	Keep     keep.Reason
	target   *deck.LocationWriter
	state    deck.LocationState
	request  Request   // as it came; empty for what was loaded
	delivery *delivery // nil for what was loaded
	done     *outcome  // of another delivery, which has just derived from the same parts
}

// Write is Deliver for a caller who need not know where the evidence went.
func (w *Writer) Write(ctx context.Context, r Request) ([]Written, error) {
	_, written, err := w.Deliver(ctx, r)
	return written, err
}

// Deliver makes the evidence durable and brings the tapes of the trace up to date. Repeating it changes
// nothing. Several deliveries of one trace may be under way at once. Each makes its part durable, and as few
// as possible derive. All return when tapes of all their parts are there.
func (w *Writer) Deliver(ctx context.Context, r Request) (s *Stored, written []Written, err error) {
	reason, err := w.drops(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if reason == keep.Dropped {
		return &Stored{Evidence: generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID}, Keep: reason}, nil, nil
	}
	if s, written, err = w.deliver(ctx, r); s != nil {
		s.Keep = reason
	}
	return s, written, err
}

func (w *Writer) deliver(ctx context.Context, r Request) (s *Stored, written []Written, err error) {
	d := w.turns.join(r.Tenant, r.TraceID)
	defer w.turns.leave(r.Tenant, r.TraceID, d)
	early, written, err := w.writeFirst(ctx, r, d)
	if early == nil && err != nil {
		return nil, nil, err
	}
	if early != nil && early.alone {
		s = early.Stored
	} else if s, err = w.store(ctx, r, d); err == nil {
		written, err = w.Tapes(ctx, s, nil)
	}
	if err = w.takeBack(ctx, r, d, err); s == nil {
		return nil, nil, err
	}
	if err == nil && d.has {
		d.turn.last = &outcome{s.target.Location(), s.state.Parts, written}
	}
	return s, written, err
}

// Store makes the evidence durable: it writes the part and gathers all parts of the trace.
func (w *Writer) Store(ctx context.Context, r Request) (*Stored, error) {
	return w.store(ctx, r, &delivery{})
}

func (w *Writer) store(ctx context.Context, r Request, d *delivery) (s *Stored, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = generation.Defect(d.sentinel(), r.TraceID, p)
		}
	}()
	if r.Set.Len() == 0 {
		return nil, fmt.Errorf("%w in trace %s: no spans of an agent run", generation.ErrNoRun, r.TraceID)
	}
	w.deriver.Stage(stageEncode)
	buf := scratch.Get().(*[]byte)
	defer func() { scratch.Put(buf) }()
	part, err := r.Set.CanonicalIn(buf)
	if err != nil {
		return nil, fmt.Errorf("encode evidence of trace %s: %w", r.TraceID, err)
	}
	// A trace moves from undecided to where it belongs, and from production to the replays. Another writer
	// may move it while this one writes; or a tag lies in a part that is there already. Then this one
	// follows.
	const most = 4
	known := r.Set
	for range most {
		s, err := w.storeAt(ctx, r, known, part, d)
		if !errors.Is(err, errMoved) {
			return s, err
		}
		if s != nil {
			known = s.Set
		}
	}
	return nil, fmt.Errorf("write part of trace %s: %w again and again", r.TraceID, errMoved)
}

// storeAt returns errMoved, and perhaps what is known of the trace, when the evidence has to go elsewhere.
func (w *Writer) storeAt(ctx context.Context, r Request, known *evidence.Set, part []byte, d *delivery) (*Stored, error) {
	s := &Stored{Evidence: generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID, Set: known}, request: r, delivery: d}
	p, err := w.plan(ctx, s.known())
	if err != nil {
		return nil, err
	}
	own := deck.PartDigest(part)
	d.own = own
	if p.runs.PartBuried(own) {
		return nil, fmt.Errorf("write part of trace %s: %w", r.TraceID, deck.ErrBuried)
	}
	w.deriver.Stage(stageGate)
	if err := w.passEvidence(ctx, p.target.Location(), r.Set); err != nil {
		return nil, err
	}
	if p.Area == deck.AreaUndecided {
		if err := w.deck.FlagUndecided(ctx, p.runs.Location()); err != nil {
			return nil, fmt.Errorf("flag trace %s: %w", r.TraceID, err)
		}
	}
	if _, _, err := p.target.PutNamedPart(ctx, own, part); err != nil {
		return nil, fmt.Errorf("write part of trace %s: %w", r.TraceID, err)
	}
	d.durable, d.own, d.puts = true, own, append(d.puts, p.target.Location())
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	var gone []residue
	if gone, s.state, err = w.gather(ctx, p); err != nil {
		return nil, err
	}
	if p.target.PartBuried(own) { // in this moment
		return nil, fmt.Errorf("write part of trace %s: %w", r.TraceID, deck.ErrBuried)
	}
	if !slices.Contains(s.state.Parts, own) { // the location was buried since, or the part brought elsewhere
		return nil, errMoved
	}
	s.Placement, s.target = p.Placement, p.target
	if s.done = d.done(p.target.Location(), s.state.Parts); s.done == nil {
		err := w.unite(ctx, s, own, known)
		if errors.Is(err, deck.ErrNotFound) {
			return nil, errMoved // since it was listed
		}
		if err != nil {
			return nil, err
		}
		s.Placement.Verdict = s.Set.Verdict(w.options.Replay)
	}
	if ok, err := w.verifyLocation(ctx, p, s); err != nil {
		return nil, err
	} else if !ok {
		return s, errMoved
	}
	return s, w.deleteMoved(ctx, s, gone)
}

// unite gathers the parts of a trace, within the bounds. The part that is named own is known already.
func (w *Writer) unite(ctx context.Context, s *Stored, own string, known *evidence.Set) error {
	return w.deriver.Unite(&s.Evidence, s.state.Parts, own, known, func(digest string) ([]byte, error) {
		return w.deck.ReadPart(ctx, s.target.Location(), digest)
	})
}

// Tapes derives the tapes of one trace and writes them, unless they are there already. Runs whose root span
// ids are given in except are left out: they are part of a joined run.
func (w *Writer) Tapes(ctx context.Context, s *Stored, except []string) ([]Written, error) {
	if s.Placement.Refused {
		return nil, nil
	}
	var written []Written
	var err error
	if s.done != nil {
		written = s.done.written
	} else {
		written, err = w.tapes(ctx, s, except)
	}
	if errors.Is(err, deck.ErrBuried) || err == nil && s.request.Set != nil {
		moved, lookErr := w.moved(ctx, s)
		if lookErr != nil {
			return nil, lookErr
		}
		if moved {
			// The tapes are taken away with what else is left there.
			again, err := w.store(ctx, s.request, s.delivery)
			if err != nil {
				return nil, err
			}
			*s = *again
			return w.Tapes(ctx, s, except)
		}
	}
	return written, err
}

func (w *Writer) tapes(ctx context.Context, s *Stored, except []string) (_ []Written, err error) {
	defer generation.Recovered(&err, generation.ErrUnderivable, s.TraceID)
	tapes, reason, err := w.deriver.Tapes(&s.Evidence)
	if err != nil {
		return nil, err
	}
	if len(tapes) == 0 {
		return nil, generation.NoRun(&s.Evidence, reason)
	}
	name := w.deriver.Name
	if len(except) > 0 {
		tapes = slices.DeleteFunc(tapes, func(t *tape.Tape) bool { return slices.Contains(except, t.Run.RootSpanID) })
		name = w.deriver.NameWithoutJoined
	}
	if len(tapes) == 0 {
		return nil, nil
	}
	gen := name(w.deriver.Items(&s.Evidence), s.Parts)
	if s.delivery != nil {
		s.delivery.made = append(s.delivery.made, made{s.target.Location(), gen})
	}
	return w.generation(ctx, s.target, s.state, gen, s.Parts, tapes)
}

// Roots returns the root span ids of the runs in what is stored.
func (w *Writer) Roots(s *Stored) (roots []string) {
	tapes, _, _ := w.deriver.Tapes(&s.Evidence) // Tapes reports its error
	for _, t := range tapes {
		roots = append(roots, t.Run.RootSpanID)
	}
	return roots
}

// generation writes the tapes that were made of parts as one generation.
func (w *Writer) generation(ctx context.Context, target *deck.LocationWriter, state deck.LocationState, gen deck.Generation, parts []string, tapes []*tape.Tape) ([]Written, error) {
	location := target.Location()
	buf := scratch.Get().(*[]byte)
	defer func() { scratch.Put(buf) }()
	runs, text, err := w.deriver.Render((*buf)[:0], tapes)
	if *buf = text; err != nil {
		return nil, err
	}
	if !state.Has(gen) || w.unsigned(state, gen) {
		w.deriver.Stage(stageGateFiles)
		if err := w.passFiles(ctx, location, state.Parts, runs); err != nil {
			return nil, err
		}
		w.deriver.AddSignatures(runs, tapes, parts) // behind the gate: a signature looks random to it
		_, err := target.PutGeneration(ctx, gen, runs)
		if errors.Is(err, deck.ErrBuried) {
			// Retention takes generations away that another has replaced: then the tapes that are wanted are
			// there.
			if current, ok, stateErr := w.deck.Current(ctx, location); stateErr == nil && ok && current.Compare(gen) > 0 {
				return nil, nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("write generation of trace %s: %w", location.TraceID, err)
		}
	}
	w.prune(ctx, location, state, gen)
	return w.written(location, gen, tapes), nil
}

// unsigned reports whether tapes of a generation that is there lack the signature of this writer.
func (w *Writer) unsigned(state deck.LocationState, gen deck.Generation) bool {
	i := slices.IndexFunc(state.Generations, func(g deck.GenerationState) bool { return g.Generation == gen })
	return w.options.Sign != nil && i >= 0 && slices.ContainsFunc(state.Generations[i].Runs, func(r deck.Run) bool {
		return len(r.Files) > 0 && !slices.Contains(r.Files, signature.FileName(w.options.Sign.KeyID()))
	})
}

// written describes sealed tapes of a generation.
func (w *Writer) written(location deck.Location, gen deck.Generation, tapes []*tape.Tape) []Written {
	written := make([]Written, len(tapes))
	for i, t := range tapes {
		written[i] = Written{
			RunID:     t.Run.RunID,
			TraceID:   t.Run.TraceID,
			URL:       w.deck.Ref(location, gen, t.Run.RootSpanID, tape.TapeFile).URL,
			Status:    t.Run.Status,
			Grade:     t.Fidelity.Grade,
			Events:    len(t.Events),
			ToolCalls: t.Usage.ToolCalls,
			Findings:  len(t.Fidelity.Findings),
		}
	}
	return written
}

// prune takes away what a complete generation has replaced. Readers of the replaced generation find the next
// one (see deck.ReadCurrent). A writer that is writing the replaced generation, or dies here, leaves files
// that no reader takes. The next writer takes those away. Where pruning is not allowed, the replaced
// generation stays for gc.
func (w *Writer) prune(ctx context.Context, location deck.Location, state deck.LocationState, gen deck.Generation) {
	var gone []deck.GenerationState
	for _, g := range state.Generations {
		if gen.Replaces(g.Generation) {
			gone = append(gone, g)
		}
	}
	if len(gone) == 0 {
		return
	}
	if err := w.deck.RemoveGenerations(ctx, location, gone); err != nil && w.options.Warn != nil {
		w.options.Warn(fmt.Errorf("take away what generation %s has replaced: %w; it stays for gc", gen, err))
	}
}

// scratch holds parts, and the texts of files, while they are written.
var scratch = sync.Pool{New: func() any { return new([]byte) }}
