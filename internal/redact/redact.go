// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"iter"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/redact/otlp"
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// Names from the packages below that users of this package need.
type (
	Rule     = detect.Rule
	UserRule = detect.UserRule
	Allow    = detect.Allow
	Report   = detect.Report
	Hit      = detect.Hit
)

// Redactor applies a profile. It is safe for concurrent use.
type Redactor struct {
	profile  Profile
	digest   string
	proof    Proof
	detector *detect.Detector
}

// New prepares a profile. Without a key a Redactor is for looking only (Scan…): it masks what it rewrites. With a key it tokenises session
// and user ids that hold personal data even where it masks everything else, because runs could not be grouped otherwise.
func New(p Profile) (*Redactor, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	d, err := detect.New(detect.Options{Enabled: p.enabled, Rules: p.Rules, SecretKeys: p.SecretKeys, Allow: p.Allow, Replace: p.replacement})
	if err != nil {
		return nil, err
	}
	return &Redactor{profile: p, digest: p.Digest(), proof: proofOf(p), detector: d}, nil
}

// replacement returns what stands for a value.
func (p *Profile) replacement(rule, value string, identity bool) string {
	if p.Mode == ModeMask && !identity || p.key == nil {
		return token.Mask
	}
	return p.key.token(rule, value)
}

// Remember says whether texts are remembered in which nothing was found, as they are by default. It is of no matter for what is found, and must not be
// called while the redactor is in use.
func (r *Redactor) Remember(on bool) { r.detector.Remember(on) }

// Rules lists what the profile searches for, in the order of precedence.
func (r *Redactor) Rules() []Rule { return r.detector.Rules() }

// Key returns the key of the profile.
func (r *Redactor) Key() *Key { return r.profile.key }

// ProfileDigest names everything of the profile that decides what is redacted, but not the key: sha256 and hexadecimal digits.
func (r *Redactor) ProfileDigest() string { return r.digest }

// Policy is the name of the profile.
func (r *Redactor) Policy() string { return r.profile.Policy }

// String redacts one string that stands under a name ("" if it has none).
func (r *Redactor) String(name, s string, rep *Report) string {
	return r.detector.Walk(rep).Value(name, s)
}

// Identity redacts a string that names somebody, such as a tenant: what is found is a token in every mode, or two names could become one.
func (r *Redactor) Identity(name, s string) string {
	return r.detector.Walk(nil).Identity().Value(name, s)
}

// ScanString returns what String would replace.
func (r *Redactor) ScanString(name, s string) []Hit {
	return r.detector.Scan(func(w *detect.Walk) { w.Value(name, s) })
}

// ScanFile returns what is found in a file that was rendered from evidence, as tapes and oracles are. Its
// entries and events are records: what stands in two of them is not read as one text.
func (r *Redactor) ScanFile(s string) []Hit {
	return r.detector.Scan(func(w *detect.Walk) { w.File(s) })
}

// ClearJSON says whether ScanFile finds nothing in any of some JSON documents, which have just been rendered.
// Nobody may change them meanwhile. False means that ScanFile has to tell.
func (r *Redactor) ClearJSON(texts iter.Seq[[]byte]) bool {
	return r.detector.ClearJSON(func(yield func(string) bool) {
		for text := range texts {
			if !yield(unsafe.String(unsafe.SliceData(text), len(text))) { // nothing of it is kept
				return
			}
		}
	})
}

// Ranges returns the byte ranges of s that String would replace, in order.
func (r *Redactor) Ranges(name, s string) [][2]int { return r.detector.Walk(nil).Ranges(name, s) }

// Traces redacts every string of the spans in place, and notes those in which nothing is found for the proof of its profile,
// if somebody has one.
func (r *Redactor) Traces(td ptrace.Traces, rep *Report) {
	if !r.detector.Remembers() || !r.proof.asked() {
		otlp.Traces(r.detector.Walk(rep), td)
		return
	}
	w := r.detector.Walk(rep)
	sums := w.Sums // one function for all spans
	otlp.TracesWith(w, td, func(span ptrace.Span) { r.proof.note(span, sums) })
}

// Logs redacts every string of the log records in place.
func (r *Redactor) Logs(ld plog.Logs, rep *Report) { otlp.Logs(r.detector.Walk(rep), ld) }

// Metrics redacts names, attributes and exemplars in place.
func (r *Redactor) Metrics(md pmetric.Metrics, rep *Report) {
	otlp.Metrics(r.detector.Walk(rep), md)
}

// Attributes redacts a map in place.
func (r *Redactor) Attributes(m pcommon.Map, rep *Report) { otlp.Attributes(r.detector.Walk(rep), m) }

// ScanTraces returns what Traces would replace. It does not change td.
func (r *Redactor) ScanTraces(td ptrace.Traces) []Hit {
	return r.detector.Scan(func(w *detect.Walk) { otlp.Traces(w, td) })
}

// ScanLogs returns what Logs would replace. It does not change ld.
func (r *Redactor) ScanLogs(ld plog.Logs) []Hit {
	return r.detector.Scan(func(w *detect.Walk) { otlp.Logs(w, ld) })
}

// ScanMetrics returns what Metrics would replace. It does not change md.
func (r *Redactor) ScanMetrics(md pmetric.Metrics) []Hit {
	return r.detector.Scan(func(w *detect.Walk) { otlp.Metrics(w, md) })
}

// Purge replaces what the rules find until they find nothing more. If replacing does not get there, it takes coarser steps and removes
// whole values, then whole spans. It returns what those steps took away. Everything else stays.
func (r *Redactor) Purge(td ptrace.Traces) (dropped []Hit) { return otlp.Purge(r.detector, td) }
