// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/tape"
)

// Gate searches what is about to be written for what redaction should have replaced. It knows the rules of its profile but those that
// guess: what they find was left on purpose where another profile redacted.
type Gate struct {
	redactor *redact.Redactor // without a key: what it rewrites, it masks
	proof    redact.Proof     // of the same profile
	files    bool             // derived files are searched too
}

// NewGate returns the gate of a profile. Paths on its allow list are those of telemetry, which derived files do not have; with such
// paths only evidence is searched.
func NewGate(p redact.Profile) (*Gate, error) {
	all, err := redact.New(p.WithKey(nil))
	if err != nil {
		return nil, err
	}
	proof := redact.ProofOf(p)
	p.Disable = slices.Clone(p.Disable)
	for _, rule := range all.Rules() {
		if rule.Class == detect.Guess {
			p.Disable = append(p.Disable, rule.Name)
		}
	}
	p.Mode = redact.ModeMask
	r, err := redact.New(p.WithKey(nil))
	if err != nil {
		return nil, err
	}
	r.Trust(proof)
	return &Gate{redactor: r, proof: proof, files: len(p.Allow.Paths) == 0}, nil
}

// ScanTraces returns what is found in evidence.
func (g *Gate) ScanTraces(td ptrace.Traces) []redact.Hit { return g.redactor.ScanTraces(td) }

// Purge masks what is found in evidence, as far as that goes, and returns what had to be taken away whole.
func (g *Gate) Purge(td ptrace.Traces) (dropped []redact.Hit) { return g.redactor.Purge(td) }

// ScanString returns what is found in a text or a document of JSON that has the name.
func (g *Gate) ScanString(name, s string) []redact.Hit { return g.redactor.ScanString(name, s) }

// ScanFile returns what is found in a file that was rendered from evidence, as tapes and oracles are.
func (g *Gate) ScanFile(s string) []redact.Hit { return g.redactor.ScanFile(s) }

// QuarantineError says that the gate kept something out of the deck, because the gate found in it what redaction should have replaced. The
// quarantined evidence is durable. Trying again gives the same result.
type QuarantineError struct {
	TraceID string
	What    string   // evidence or tapes
	Hits    int      // values that were found
	Rules   []string // that found them, sorted
	// Evidence says what of it lies beside the report: masked, partial, none. Dropped counts the values that masking did not reach.
	Evidence string
	Dropped  int
	Report   string // address of the report in the deck
}

// The files that lie beside a report.
const (
	keptMasked  = "masked"  // all of the evidence, with what was found masked
	keptPartial = "partial" // the evidence without what masking did not reach
	keptNone    = "none"    // nothing: tapes are made again from the evidence in the deck
)

func (e *QuarantineError) Error() string {
	dropped := ""
	if e.Dropped > 0 {
		dropped = fmt.Sprintf("; %d of them could not be masked and were dropped", e.Dropped)
	}
	return fmt.Sprintf("the %s of trace %s went to quarantine: %d values found by %s%s; evidence beside the report: %s; report: %s",
		e.What, e.TraceID, e.Hits, strings.Join(e.Rules, ", "), dropped, e.Evidence, e.Report)
}

// quarantineReport is the file that lies in quarantine. It holds locations and rules, never values.
type quarantineReport struct {
	Kind     string         `json:"kind"`
	Layout   string         `json:"layout"`
	Location string         `json:"place"`
	TraceID  string         `json:"trace_id"`
	What     string         `json:"what"`
	Gate     gateReport     `json:"gate"`
	Hits     int            `json:"hits"`
	Rules    map[string]int `json:"rules"`
	Findings []gateFinding  `json:"findings"` // at most maxGateFindings
	Evidence string         `json:"evidence"` // what lies beside the report: masked, partial (with what was dropped), none
	Dropped  []gateFinding  `json:"dropped,omitempty"`
	Parts    []string       `json:"parts,omitempty"`
}

type gateReport struct {
	Policy        string `json:"policy"`
	ProfileDigest string `json:"profile_digest"`
}

type gateFinding struct {
	Code     tape.Code     `json:"code"`
	Severity tape.Severity `json:"severity"`
	Field    string        `json:"field"`
	Detail   string        `json:"detail"`
}

// maxGateFindings bounds a report: evidence that nothing has redacted gives thousands.
const maxGateFindings = 1000

// unproven is what of evidence has to be searched: all but the spans in which a redactor of this process has found nothing by the same rules.
func (g *Gate) unproven(set *evidence.Set) ptrace.Traces {
	return set.Excerpt(func(i evidence.Item) bool { return !g.proof.Holds(i.Sum()) })
}

// passEvidence lets evidence through, or writes it to quarantine with what was found masked.
func (w *Writer) passEvidence(ctx context.Context, location deck.Location, set *evidence.Set) error {
	if w.options.Gate == nil {
		return nil
	}
	g := w.options.Gate
	if len(g.redactor.ScanTraces(g.unproven(set))) == 0 {
		return nil
	}
	td := set.Traces() // a report names places in all of it
	hits := g.redactor.ScanTraces(td)
	dropped := g.Purge(td)
	var canonical []byte
	if td.SpanCount() > 0 {
		masked := evidence.NewSet()
		masked.AddTraces(td)
		var err error
		if canonical, err = masked.Canonical(); err != nil {
			return fmt.Errorf("encode evidence of trace %s: %w", location.TraceID, err)
		}
	}
	return w.quarantine(ctx, location, quarantined{what: "evidence", hits: hits, dropped: dropped, canonical: canonical})
}

func gateFindings(hits []redact.Hit) []gateFinding {
	list := make([]gateFinding, min(len(hits), maxGateFindings))
	for i := range list {
		list[i] = gateFinding{tape.CodeSecretGate, tape.SeverityError, hits[i].Path, "rule " + hits[i].Rule}
	}
	return list
}

// passPart is passEvidence for a part of the deck that goes to another location.
func (w *Writer) passPart(ctx context.Context, location deck.Location, part []byte) error {
	if w.options.Gate == nil {
		return nil
	}
	set, err := evidence.FromPart(part)
	if err != nil {
		return fmt.Errorf("part of trace %s: %w", location.TraceID, err)
	}
	return w.passEvidence(ctx, location, set)
}

// passFiles lets the files of a generation through, or writes a report to quarantine. Their evidence lies in the deck, where the gate
// found nothing in it.
func (w *Writer) passFiles(ctx context.Context, location deck.Location, parts []string, runs []deck.RunFiles) error {
	g := w.options.Gate
	if g == nil || !g.files {
		return nil
	}
	bodies := func(yield func([]byte) bool) {
		for _, run := range runs {
			for _, f := range run.Files {
				if !yield(f.Body) {
					return
				}
			}
		}
	}
	if g.redactor.ClearJSON(bodies) {
		return nil
	}
	var hits []redact.Hit
	for _, run := range runs {
		for _, f := range run.Files {
			for _, hit := range g.ScanFile(string(f.Body)) {
				hit.Path = run.Root + "/" + f.Name + ":" + hit.Path
				hits = append(hits, hit)
			}
		}
	}
	if len(hits) == 0 {
		return nil
	}
	return w.quarantine(ctx, location, quarantined{what: "tapes", hits: hits, parts: parts})
}

// quarantined is what is kept out of a location.
type quarantined struct {
	what      string // evidence or tapes
	hits      []redact.Hit
	dropped   []redact.Hit // what masking did not reach
	canonical []byte       // masked evidence; nil when nothing of it is left, and for tapes
	parts     []string     // of tapes
}

func (w *Writer) quarantine(ctx context.Context, location deck.Location, q quarantined) error {
	r := w.options.Gate.redactor
	report := quarantineReport{
		Kind: "tape-quarantine", Layout: "1", Location: location.Prefix(), TraceID: location.TraceID, What: q.what,
		Gate: gateReport{r.Marker().Policy, r.ProfileDigest()},
		Hits: len(q.hits), Rules: map[string]int{}, Findings: gateFindings(q.hits), Evidence: keptNone, Dropped: gateFindings(q.dropped), Parts: q.parts,
	}
	switch {
	case q.canonical != nil && len(q.dropped) == 0:
		report.Evidence = keptMasked
	case q.canonical != nil:
		report.Evidence = keptPartial
	}
	for _, hit := range q.hits {
		report.Rules[hit.Rule]++
	}
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode quarantine report: %w", err)
	}
	if len(r.ScanString("", string(text))) > 0 { // a path holds the names that a sender chose
		for _, list := range [][]gateFinding{report.Findings, report.Dropped} {
			for i := range list {
				list[i].Field = ""
			}
		}
		if text, err = json.Marshal(report); err != nil {
			return fmt.Errorf("encode quarantine report: %w", err)
		}
	}
	url, err := w.deck.PutQuarantine(ctx, location, append(text, '\n'), q.canonical)
	if err != nil {
		return fmt.Errorf("write quarantine of trace %s: %w", location.TraceID, err)
	}
	return &QuarantineError{TraceID: location.TraceID, What: q.what, Hits: len(q.hits), Dropped: len(q.dropped), Evidence: report.Evidence,
		Rules: slices.Sorted(maps.Keys(report.Rules)), Report: url}
}
