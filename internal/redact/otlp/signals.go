// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

var (
	schemaKey  = detect.ProtocolName(true)
	versionKey = detect.ProtocolName(true)
	stateKey   = detect.ProtocolName(false)
)

// Traces redacts every string of the spans in place.
func Traces(w *detect.Walk, td ptrace.Traces) { TracesWith(w, td, func(ptrace.Span) {}) }

// TracesWith is Traces, and tells of every span in which nothing is found.
func TracesWith(w *detect.Walk, td ptrace.Traces, clean func(ptrace.Span)) {
	for i, rs := range td.ResourceSpans().All() {
		w.Element("resourceSpans", i, func() {
			resource(w, rs.Resource())
			w.FieldString("schemaUrl", rs.SchemaUrl(), schemaKey, rs.SetSchemaUrl)
			for i, ss := range rs.ScopeSpans().All() {
				w.Element("scopeSpans", i, func() {
					scope(w, ss.Scope())
					w.FieldString("schemaUrl", ss.SchemaUrl(), schemaKey, ss.SetSchemaUrl)
					for i, s := range ss.Spans().All() {
						found := w.Found()
						w.ForgetSums()
						w.Element("spans", i, func() { span(w, s) })
						if w.Found() == found {
							clean(s)
						}
					}
				})
			}
		})
	}
}

func span(w *detect.Walk, s ptrace.Span) {
	w.FieldString("name", s.Name(), detect.NoName, s.SetName)
	w.FieldString("status", s.Status().Message(), detect.NoName, s.Status().SetMessage)
	w.FieldString("traceState", s.TraceState().AsRaw(), stateKey, s.TraceState().FromRaw)
	attributes(w, s.Attributes(), "attributes")
	events(w, s.Events())
	for i, l := range s.Links().All() {
		w.Element("links", i, func() {
			w.FieldString("traceState", l.TraceState().AsRaw(), stateKey, l.TraceState().FromRaw)
			attributes(w, l.Attributes(), "attributes")
		})
	}
}

// events redacts the events of a span. Events of one name are how some instrumentations record a stream.
func events(w *detect.Walk, events ptrace.SpanEventSlice) {
	if events.Len() == 0 {
		return
	}
	w.Events(func() {
		for i, e := range events.All() {
			w.Element("events", i, func() {
				name := e.Name()
				w.FieldString("name", name, detect.NoName, e.SetName)
				w.Event(name, func() { attributes(w, e.Attributes(), "attributes") })
			})
		}
	})
}

func resource(w *detect.Walk, r pcommon.Resource) {
	w.Field("resource", func() {
		attributes(w, r.Attributes(), "attributes")
		for i, ref := range entity.ResourceEntityRefs(r).All() {
			w.Element("entityRefs", i, func() {
				w.FieldString("schemaUrl", ref.SchemaUrl(), schemaKey, ref.SetSchemaUrl)
				w.FieldString("type", ref.Type(), detect.NoName, ref.SetType)
				names(w, "idKeys", ref.IdKeys())
				names(w, "descriptionKeys", ref.DescriptionKeys())
			})
		}
	})
}

// names redacts keys of attributes that stand in a list. They become what the keys themselves become.
func names(w *detect.Walk, list string, names pcommon.StringSlice) {
	for i, name := range names.All() {
		w.Element(list, i, func() {
			w.Key(name, func(to string) { names.SetAt(i, to) })
		})
	}
}

func scope(w *detect.Walk, s pcommon.InstrumentationScope) {
	w.Field("scope", func() {
		w.FieldString("name", s.Name(), detect.NoName, s.SetName)
		w.FieldString("version", s.Version(), versionKey, s.SetVersion)
		attributes(w, s.Attributes(), "attributes")
	})
}

// Logs redacts every string of the log records in place.
func Logs(w *detect.Walk, ld plog.Logs) {
	for i, rl := range ld.ResourceLogs().All() {
		w.Element("resourceLogs", i, func() {
			resource(w, rl.Resource())
			w.FieldString("schemaUrl", rl.SchemaUrl(), schemaKey, rl.SetSchemaUrl)
			for i, sl := range rl.ScopeLogs().All() {
				w.Element("scopeLogs", i, func() {
					scope(w, sl.Scope())
					w.FieldString("schemaUrl", sl.SchemaUrl(), schemaKey, sl.SetSchemaUrl)
					for i, lr := range sl.LogRecords().All() {
						w.Element("logRecords", i, func() {
							w.FieldString("eventName", lr.EventName(), detect.NoName, lr.SetEventName)
							w.FieldString("severityText", lr.SeverityText(), detect.NoName, lr.SetSeverityText)
							w.Field("body", func() {
								w.Tree(func() { value(w, lr.Body(), detect.NoName, 0) })
							})
							attributes(w, lr.Attributes(), "attributes")
						})
					}
				})
			}
		})
	}
}

// Metrics redacts names, attributes and exemplars in place.
func Metrics(w *detect.Walk, md pmetric.Metrics) {
	for i, rm := range md.ResourceMetrics().All() {
		w.Element("resourceMetrics", i, func() {
			resource(w, rm.Resource())
			w.FieldString("schemaUrl", rm.SchemaUrl(), schemaKey, rm.SetSchemaUrl)
			for i, sm := range rm.ScopeMetrics().All() {
				w.Element("scopeMetrics", i, func() {
					scope(w, sm.Scope())
					w.FieldString("schemaUrl", sm.SchemaUrl(), schemaKey, sm.SetSchemaUrl)
					for i, m := range sm.Metrics().All() {
						w.Element("metrics", i, func() { metric(w, m) })
					}
				})
			}
		})
	}
}

func metric(w *detect.Walk, m pmetric.Metric) {
	w.FieldString("name", m.Name(), detect.NoName, m.SetName)
	w.FieldString("description", m.Description(), detect.NoName, m.SetDescription)
	w.FieldString("unit", m.Unit(), detect.NoName, m.SetUnit)
	attributes(w, m.Metadata(), "metadata")
	point := func(i int, attrs pcommon.Map, exemplars pmetric.ExemplarSlice) {
		w.Element("dataPoints", i, func() {
			attributes(w, attrs, "attributes")
			for i, e := range exemplars.All() {
				w.Element("exemplars", i, func() { attributes(w, e.FilteredAttributes(), "filteredAttributes") })
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
