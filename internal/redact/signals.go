// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// String redacts one string that stands under a name ("" if it has none).
func (r *Redactor) String(name, s string, rep *Report) string {
	p := r.pass(rep)
	if name != "" {
		p.path = append(p.path, step{name: name})
	}
	return apply(s, p.leaf(s, r.named(name)))
}

// Identity redacts a string that names somebody, such as a tenant: what is found is a token in every mode, or two names could become one.
func (r *Redactor) Identity(name, s string) string {
	p := r.pass(nil)
	p.identity = true
	p.path = append(p.path, step{name: name})
	return apply(s, p.leaf(s, r.named(name)))
}

// Traces redacts every string of the spans in place.
func (r *Redactor) Traces(td ptrace.Traces, rep *Report) { r.pass(rep).traces(td) }

// Logs redacts every string of the log records in place.
func (r *Redactor) Logs(ld plog.Logs, rep *Report) { r.pass(rep).logs(ld) }

// Metrics redacts names, attributes and exemplars in place.
func (r *Redactor) Metrics(md pmetric.Metrics, rep *Report) { r.pass(rep).metrics(md) }

// Attributes redacts a map in place.
func (r *Redactor) Attributes(m pcommon.Map, rep *Report) { r.pass(rep).attributes(m, "") }

// ScanString returns what String would replace.
func (r *Redactor) ScanString(name, s string) []Hit {
	rep := &Report{located: true}
	r.String(name, s, rep)
	return rep.places
}

// Ranges returns the byte ranges of s that String would replace, in order.
func (r *Redactor) Ranges(name, s string) (at [][2]int) {
	p := r.pass(nil)
	if name != "" {
		p.path = append(p.path, step{name: name})
	}
	for _, e := range p.leaf(s, r.named(name)) {
		at = append(at, [2]int{e.start, e.end})
	}
	return at
}

// ScanTraces returns what Traces would replace. It does not change td.
func (r *Redactor) ScanTraces(td ptrace.Traces) []Hit {
	return r.scan(func(p *pass) { p.traces(td) })
}

// ScanLogs returns what Logs would replace. It does not change ld.
func (r *Redactor) ScanLogs(ld plog.Logs) []Hit {
	return r.scan(func(p *pass) { p.logs(ld) })
}

// ScanMetrics returns what Metrics would replace. It does not change md.
func (r *Redactor) ScanMetrics(md pmetric.Metrics) []Hit {
	return r.scan(func(p *pass) { p.metrics(md) })
}

func (r *Redactor) pass(rep *Report) *pass {
	if rep == nil {
		rep = &Report{}
	}
	return &pass{r: r, rep: rep}
}

func (r *Redactor) scan(walk func(*pass)) []Hit {
	p := &pass{r: r, rep: &Report{located: true}, dry: true}
	walk(p)
	return p.rep.places
}

// in walks with one step more on the path.
func (p *pass) in(s step, walk func()) {
	p.path = append(p.path, s)
	walk()
	p.path = p.path[:len(p.path)-1]
}

func field(name string) step { return step{name: name, field: true} }

func (p *pass) element(name string, i int, walk func()) {
	p.path = append(p.path, field(name), step{array: true, index: i, field: true})
	walk()
	p.path = p.path[:len(p.path)-2]
}

// str redacts a field of a signal.
func (p *pass) str(name, s string, k *keyInfo, set func(string)) {
	if s == "" {
		return
	}
	p.path = append(p.path, field(name))
	if edits := p.leaf(s, k); len(edits) > 0 && !p.dry {
		set(apply(s, edits))
	}
	p.path = p.path[:len(p.path)-1]
}

var (
	schemaKey  = &keyInfo{protocol: true, version: true}
	versionKey = &keyInfo{protocol: true, version: true}
	stateKey   = &keyInfo{protocol: true}
)

func (p *pass) traces(td ptrace.Traces) {
	for i, rs := range td.ResourceSpans().All() {
		p.element("resourceSpans", i, func() {
			p.resource(rs.Resource())
			p.str("schemaUrl", rs.SchemaUrl(), schemaKey, rs.SetSchemaUrl)
			for i, ss := range rs.ScopeSpans().All() {
				p.element("scopeSpans", i, func() {
					p.scope(ss.Scope())
					p.str("schemaUrl", ss.SchemaUrl(), schemaKey, ss.SetSchemaUrl)
					for i, span := range ss.Spans().All() {
						p.element("spans", i, func() { p.span(span) })
					}
				})
			}
		})
	}
}

func (p *pass) span(s ptrace.Span) {
	p.str("name", s.Name(), noKey, s.SetName)
	p.str("status", s.Status().Message(), noKey, s.Status().SetMessage)
	p.str("traceState", s.TraceState().AsRaw(), stateKey, s.TraceState().FromRaw)
	p.attributes(s.Attributes(), "attributes")
	p.events(s.Events())
	for i, l := range s.Links().All() {
		p.element("links", i, func() {
			p.str("traceState", l.TraceState().AsRaw(), stateKey, l.TraceState().FromRaw)
			p.attributes(l.Attributes(), "attributes")
		})
	}
}

// events redacts the events of a span. Events of one name are how some instrumentations record a stream.
func (p *pass) events(events ptrace.SpanEventSlice) {
	if events.Len() == 0 {
		return
	}
	p.repeat(func() {
		p.arrays, p.base = 1, len(p.path)
		for i, e := range events.All() {
			p.element("events", i, func() {
				name := e.Name()
				p.str("name", name, noKey, e.SetName)
				k := p.r.named(name)
				p.salt, p.delta = "event "+name, k.delta
				p.attributes(e.Attributes(), "attributes")
				p.salt, p.delta = "", false
			})
		}
		p.cutPieces(p.streams(0))
		p.arrays, p.base, p.pieces = 0, 0, p.pieces[:0]
	})
}

func (p *pass) resource(r pcommon.Resource) {
	p.in(field("resource"), func() {
		p.attributes(r.Attributes(), "attributes")
		for i, ref := range entity.ResourceEntityRefs(r).All() {
			p.element("entityRefs", i, func() {
				p.str("schemaUrl", ref.SchemaUrl(), schemaKey, ref.SetSchemaUrl)
				p.str("type", ref.Type(), noKey, ref.SetType)
				p.names("idKeys", ref.IdKeys())
				p.names("descriptionKeys", ref.DescriptionKeys())
			})
		}
	})
}

// names redacts keys of attributes that stand in a list. They become what the keys themselves become.
func (p *pass) names(list string, names pcommon.StringSlice) {
	for i, name := range names.All() {
		p.element(list, i, func() {
			if edits := p.name(name); len(edits) > 0 && !p.dry {
				names.SetAt(i, apply(name, edits))
			}
		})
	}
}

func (p *pass) scope(s pcommon.InstrumentationScope) {
	p.in(field("scope"), func() {
		p.str("name", s.Name(), noKey, s.SetName)
		p.str("version", s.Version(), versionKey, s.SetVersion)
		p.attributes(s.Attributes(), "attributes")
	})
}

func (p *pass) logs(ld plog.Logs) {
	for i, rl := range ld.ResourceLogs().All() {
		p.element("resourceLogs", i, func() {
			p.resource(rl.Resource())
			p.str("schemaUrl", rl.SchemaUrl(), schemaKey, rl.SetSchemaUrl)
			for i, sl := range rl.ScopeLogs().All() {
				p.element("scopeLogs", i, func() {
					p.scope(sl.Scope())
					p.str("schemaUrl", sl.SchemaUrl(), schemaKey, sl.SetSchemaUrl)
					for i, lr := range sl.LogRecords().All() {
						p.element("logRecords", i, func() {
							p.str("eventName", lr.EventName(), noKey, lr.SetEventName)
							p.str("severityText", lr.SeverityText(), noKey, lr.SetSeverityText)
							p.in(field("body"), func() {
								p.base = len(p.path)
								p.repeat(func() { p.any(lr.Body(), noKey, 0, false) })
								p.pieces = p.pieces[:0]
							})
							p.attributes(lr.Attributes(), "attributes")
						})
					}
				})
			}
		})
	}
}

func (p *pass) metrics(md pmetric.Metrics) {
	for i, rm := range md.ResourceMetrics().All() {
		p.element("resourceMetrics", i, func() {
			p.resource(rm.Resource())
			p.str("schemaUrl", rm.SchemaUrl(), schemaKey, rm.SetSchemaUrl)
			for i, sm := range rm.ScopeMetrics().All() {
				p.element("scopeMetrics", i, func() {
					p.scope(sm.Scope())
					p.str("schemaUrl", sm.SchemaUrl(), schemaKey, sm.SetSchemaUrl)
					for i, m := range sm.Metrics().All() {
						p.element("metrics", i, func() { p.metric(m) })
					}
				})
			}
		})
	}
}

func (p *pass) metric(m pmetric.Metric) {
	p.str("name", m.Name(), noKey, m.SetName)
	p.str("description", m.Description(), noKey, m.SetDescription)
	p.str("unit", m.Unit(), noKey, m.SetUnit)
	p.attributes(m.Metadata(), "metadata")
	point := func(i int, attrs pcommon.Map, exemplars pmetric.ExemplarSlice) {
		p.element("dataPoints", i, func() {
			p.attributes(attrs, "attributes")
			for i, e := range exemplars.All() {
				p.element("exemplars", i, func() { p.attributes(e.FilteredAttributes(), "filteredAttributes") })
			}
		})
	}
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for i, d := range m.Gauge().DataPoints().All() {
			point(i, d.Attributes(), d.Exemplars())
		}
	case pmetric.MetricTypeSum:
		for i, d := range m.Sum().DataPoints().All() {
			point(i, d.Attributes(), d.Exemplars())
		}
	case pmetric.MetricTypeHistogram:
		for i, d := range m.Histogram().DataPoints().All() {
			point(i, d.Attributes(), d.Exemplars())
		}
	case pmetric.MetricTypeExponentialHistogram:
		for i, d := range m.ExponentialHistogram().DataPoints().All() {
			point(i, d.Attributes(), d.Exemplars())
		}
	case pmetric.MetricTypeSummary:
		for i, d := range m.Summary().DataPoints().All() {
			point(i, d.Attributes(), pmetric.NewExemplarSlice())
		}
	}
}
