// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package derive turns the evidence of a trace into what lies in the deck: its part, and a generation of tapes made from all parts.
// The tape exporter and the command line call the same Writer, so both write the same bytes.
package derive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Options configure a Writer.
type Options struct {
	// Producer names the program; its config digest is computed from the rest of the options.
	Producer tape.Producer
	// Formats default to DefaultFormats. The tape is always written, and so is the oracle in a generation of several runs: it shows
	// a reader that one of them is still missing its tape.
	Formats []string
	// Replay says what tells replays from production; nil is segregation.Default.
	Replay *segregation.Rules
	// Accept limits which traces the writer may begin.
	Accept Accept
	// Gate searches everything before it is written. If it is nil, everything is written as it is. It changes no output, so it is no part of
	// the digest.
	Gate *Gate
	// Bounds limit what one derivation takes in. A bound of zero is that of DefaultBounds.
	Bounds Bounds
	// Revision is that of the derivation; zero is Revision.
	Revision int
	// Sign signs every tape that is written; nil signs none. It changes no tape, so it is no part of the digest.
	Sign *signature.Signer
	// EvidenceAlone keeps the tapes out of reels: whoever reads derives them. It changes no output, so it is no part of the digest.
	EvidenceAlone bool
	// Warn is called with errors that did no harm. If it is nil, nobody is told.
	Warn func(error)
}

// Bounds limit what one derivation takes in. Evidence beyond them stays in the deck, and a finding on the tapes says that there is more.
type Bounds struct {
	// Bytes and Items bound the content of the evidence, see evidence.Union. The way in which the evidence was split does not change what is
	// taken.
	Bytes int64
	Items int
	// Parts bounds how many parts are read: those whose names come first.
	Parts int
}

// DefaultBounds are twice what agentrun passes on at once, and more late pieces than a run that ends ever has. pdata takes two to three
// times its size in memory, and so does a tape.
var DefaultBounds = Bounds{Bytes: 128 << 20, Items: 100_000, Parts: 1000}

// String is the finding about evidence that exceeds the bounds. It does not depend on how far.
func (b Bounds) String() string {
	return fmt.Sprintf("made of the earliest evidence only: there is more than %d spans and log records, %d bytes or %d parts", b.Items, b.Bytes, b.Parts)
}

// Validate reports an unknown format.
func (o Options) Validate() error {
	known := KnownFormats()
	for _, f := range o.Formats {
		if !slices.Contains(known, f) {
			return fmt.Errorf("unknown format %q, want %v", f, known)
		}
	}
	if b := o.Bounds; b.Bytes < 0 || b.Items < 0 || b.Parts < 0 {
		return errors.New("a bound is less than nothing")
	}
	return nil
}

// Writer writes evidence and tapes into a deck. It is safe for concurrent use.
type Writer struct {
	deck     *deck.Deck
	options  Options
	producer []byte // what names a generation beside its parts
	turns    turns
	enter    func(stage string) // called before each stage of a derivation; nil but in tests
}

// The stages at which whatever is derived may meet evidence that it cannot take.
const (
	stageEncode      = "encode"
	stageGate        = "gate"
	stageUnite       = "unite"
	stageReconstruct = "reconstruct"
	stageRender      = "render"
	stageGateFiles   = "gate files"
)

func (w *Writer) stage(stage string) {
	if w.enter != nil {
		w.enter(stage)
	}
}

// NewWriter returns a Writer for the deck.
func NewWriter(d *deck.Deck, o Options) *Writer {
	if len(o.Formats) == 0 {
		o.Formats = DefaultFormats
	}
	o.Formats = slices.Compact(slices.Sorted(slices.Values(o.Formats)))
	if o.Replay == nil {
		o.Replay = segregation.Default
	}
	o.Revision = cmp.Or(o.Revision, Revision)
	o.Bounds = Bounds{cmp.Or(o.Bounds.Bytes, DefaultBounds.Bytes), cmp.Or(o.Bounds.Items, DefaultBounds.Items), cmp.Or(o.Bounds.Parts, DefaultBounds.Parts)}
	members := []exactjson.Member{{Name: "formats", Value: texts(o.Formats)}}
	if b := o.Bounds; b != DefaultBounds {
		members = append(members, exactjson.Member{Name: "bounds", Value: exactjson.ArrayValue(
			exactjson.IntValue(b.Bytes), exactjson.IntValue(int64(b.Items)), exactjson.IntValue(int64(b.Parts)))})
	}
	if o.Replay.Custom() {
		members = append(members, exactjson.Member{Name: "replay", Value: exactjson.StringValue(o.Replay.String())})
	}
	config := exactjson.ObjectValue(members...)
	o.Producer.ConfigDigest = config.Digest()
	producer, err := json.Marshal([]string{o.Producer.Name, o.Producer.Version, o.Producer.ConfigDigest})
	if err != nil {
		panic(err) // three strings
	}
	return &Writer{deck: d, options: o, producer: producer}
}

func texts(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return exactjson.ArrayValue(values...)
}

// Request is the evidence of one trace, all of it or what is new.
type Request struct {
	Tenant  string
	TraceID string
	Set     *evidence.Set
	// Complete says that the runs of the trace have ended as far as anyone can know. Evidence that is not complete lies under undecided/ until
	// the rest comes.
	Complete bool
	// First says that nothing of the trace was passed on before, as far as the sender knows. It saves looking into the deck beforehand; an
	// error in it costs work and changes nothing that is written.
	First bool
	// Idle, if there is one, is called when nothing is left to do but to wait for other traces, with which this one shares an object.
	Idle func()
	// GoesOn says that the sender brings other traces whether this one is durable or not, so that it is worth waiting for them.
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

// ErrUnderivable is returned, wrapped, when the evidence is durable but no tape can be made from it. Trying again will not help.
var ErrUnderivable = errors.New("no tape can be made")

// ErrNoRun is returned, wrapped with the reason, for evidence that holds no run. The part has been written all the same.
var ErrNoRun = errors.New("no run")

// ErrUnread is the ErrNoRun of evidence that holds text which went in or came out: who looks for the run will look in vain.
var ErrUnread = fmt.Errorf("%w although spans hold content", ErrNoRun)

// Stored is the evidence of one trace, durable and united with what the deck held of it.
type Stored struct {
	Tenant  string
	TraceID string
	Set     *evidence.Set
	// Placement tells where it lies.
	Placement Placement
	target    *deck.LocationWriter
	state     deck.LocationState
	parts     []string  // that the set was made of
	cut       bool      // the set is not all of them
	request   Request   // as it came; empty for what was loaded
	delivery  *delivery // nil for what was loaded
	done      *outcome  // of another delivery, which has just derived from the same parts
}

// Write is Deliver for a caller who need not know where the evidence went.
func (w *Writer) Write(ctx context.Context, r Request) ([]Written, error) {
	_, written, err := w.Deliver(ctx, r)
	return written, err
}

// Deliver makes the evidence durable and brings the tapes of the trace up to date. Repeating it changes nothing. Several deliveries of one
// trace may be under way at once. Each makes its part durable, and as few as possible derive. All return when tapes of all their parts are
// there.
func (w *Writer) Deliver(ctx context.Context, r Request) (s *Stored, written []Written, err error) {
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
			err = defect(d.sentinel(), r.TraceID, p)
		}
	}()
	if r.Set.Len() == 0 {
		return nil, fmt.Errorf("%w in trace %s: no spans of an agent run", ErrNoRun, r.TraceID)
	}
	w.stage(stageEncode)
	buf := scratch.Get().(*[]byte)
	defer func() { scratch.Put(buf) }()
	part, err := r.Set.CanonicalIn(buf)
	if err != nil {
		return nil, fmt.Errorf("encode evidence of trace %s: %w", r.TraceID, err)
	}
	// A trace moves from undecided to where it belongs, and from production to the replays. Another writer may move it while this one writes;
	// or a tag lies in a part that is there already. Then this one follows.
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
	s := &Stored{Tenant: r.Tenant, TraceID: r.TraceID, Set: known, request: r, delivery: d}
	p, err := w.plan(ctx, s.known())
	if err != nil {
		return nil, err
	}
	own := deck.PartDigest(part)
	d.own = own
	if p.runs.PartBuried(own) {
		return nil, fmt.Errorf("write part of trace %s: %w", r.TraceID, deck.ErrBuried)
	}
	w.stage(stageGate)
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
		err := w.unite(s, own, known, w.partsOf(ctx, s))
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
func (w *Writer) unite(s *Stored, own string, known *evidence.Set, read func(digest string) ([]byte, error)) error {
	w.stage(stageUnite)
	s.parts = s.state.Parts
	if most := w.options.Bounds.Parts; len(s.parts) > most {
		s.parts, s.cut = s.parts[:most], true
	}
	u := evidence.NewUnion(evidence.Bounds{Items: w.options.Bounds.Items, Bytes: w.options.Bounds.Bytes}, w.options.Replay)
	for _, digest := range s.parts {
		if digest == own {
			u.Add(known)
			continue
		}
		body, err := read(digest)
		if err != nil {
			return fmt.Errorf("read part %s of trace %s: %w", digest, s.TraceID, err)
		}
		other, err := evidence.FromPart(body)
		if err != nil {
			return fmt.Errorf("part %s of trace %s: %w", digest, s.TraceID, err)
		}
		u.Add(other)
	}
	set, cut := u.Set()
	s.Set, s.cut = set, s.cut || cut
	return nil
}

// partsOf reads the parts that lie where the evidence does.
func (w *Writer) partsOf(ctx context.Context, s *Stored) func(string) ([]byte, error) {
	return func(digest string) ([]byte, error) { return w.deck.ReadPart(ctx, s.target.Location(), digest) }
}

// items is what the generation of the tapes counts. It never falls when evidence comes: what is cut counts more than anything that is whole,
// and grows by parts.
func (w *Writer) items(s *Stored) int {
	if s.cut {
		return w.options.Bounds.Items + len(s.state.Parts)
	}
	return s.Set.Len()
}

// trace is what is stored, for reconstruction.
func (w *Writer) trace(s *Stored) evidence.Trace {
	t := evidence.Trace{TraceID: s.TraceID, Set: s.Set}
	if s.cut {
		t.Cut = w.options.Bounds.String()
	}
	return t
}

func (w *Writer) reconstruction(tenant string) reconstruct.Options {
	return reconstruct.Options{
		Producer: w.options.Producer, Tenant: tenant, Redaction: tape.Redaction{Policy: "none"}, Replay: w.options.Replay,
	}
}

// Tapes derives the tapes of one trace and writes them, unless they are there already. Runs whose root span ids are given in except
// are left out: they are part of a joined run.
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
	defer Recovered(&err, ErrUnderivable, s.TraceID)
	tapes, reason, err := w.reconstruct(s)
	if err != nil {
		return nil, err
	}
	if len(tapes) == 0 {
		return nil, w.noRun(s, reason)
	}
	producer := w.producer
	if len(except) > 0 {
		tapes = slices.DeleteFunc(tapes, func(t *tape.Tape) bool { return slices.Contains(except, t.Run.RootSpanID) })
		producer = append(slices.Clone(producer), "joined"...) // not the generation that holds all runs of the trace
	}
	if len(tapes) == 0 {
		return nil, nil
	}
	gen := w.newGeneration(w.items(s), s.parts, producer)
	if s.delivery != nil {
		s.delivery.made = append(s.delivery.made, made{s.target.Location(), gen})
	}
	return w.generation(ctx, s.target, s.state, gen, s.parts, tapes)
}

// noRun is the error about evidence that holds no run.
func (w *Writer) noRun(s *Stored, reason string) error {
	cause := ErrNoRun
	if w.trace(s).Set.HoldsContent() {
		cause = ErrUnread
	}
	return fmt.Errorf("%w in trace %s: %s", cause, s.TraceID, reason)
}

// Roots returns the root span ids of the runs in what is stored.
func (w *Writer) Roots(s *Stored) (roots []string) {
	tapes, _, _ := w.reconstruct(s) // what it cannot take, Tapes reports
	for _, t := range tapes {
		roots = append(roots, t.Run.RootSpanID)
	}
	return roots
}

func (w *Writer) reconstruct(s *Stored) (tapes []*tape.Tape, reason string, err error) {
	defer Recovered(&err, ErrUnderivable, s.TraceID)
	w.stage(stageReconstruct)
	tapes, reason = reconstruct.Trace(w.trace(s), w.reconstruction(s.Tenant))
	return tapes, reason, nil
}

func (w *Writer) newGeneration(items int, parts []string, producer []byte) deck.Generation {
	g := deck.NewGeneration(items, parts, producer)
	g.Revision = w.options.Revision
	return g
}

// generation writes the tapes that were made of parts as one generation.
func (w *Writer) generation(ctx context.Context, target *deck.LocationWriter, state deck.LocationState, gen deck.Generation, parts []string, tapes []*tape.Tape) ([]Written, error) {
	location := target.Location()
	buf := scratch.Get().(*[]byte)
	defer func() { scratch.Put(buf) }()
	runs, text, err := w.render((*buf)[:0], tapes)
	if *buf = text; err != nil {
		return nil, err
	}
	if !state.Has(gen) || w.unsigned(state, gen) {
		w.stage(stageGateFiles)
		if err := w.passFiles(ctx, location, state.Parts, runs); err != nil {
			return nil, err
		}
		w.sign(runs, tapes, parts)
		_, err := target.PutGeneration(ctx, gen, runs)
		if errors.Is(err, deck.ErrBuried) {
			// Retention takes generations away that another has replaced: then the tapes that are wanted are there.
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

// render seals tapes and makes their files. The bodies may lie in text, which is returned with its new size.
func (w *Writer) render(text []byte, tapes []*tape.Tape) ([]deck.RunFiles, []byte, error) {
	formats := w.options.Formats
	if len(tapes) > 1 && !slices.Contains(formats, FormatOracle) {
		formats = append(slices.Clone(formats), FormatOracle)
	}
	w.stage(stageRender)
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

// prune takes away what a complete generation has replaced. Readers of the replaced generation find the next one (see deck.ReadCurrent). A
// writer that is writing the replaced generation, or dies here, leaves files that no reader takes. The next writer takes those away. Where
// pruning is not allowed, the replaced generation stays for gc.
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
