// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelinecheckconverter finds mistakes in the pipelines of a collector that no single component can see. A component knows its own settings and
// the interfaces of its neighbours. A confmap converter sees the whole configuration, at the start and in `otelcol validate`. This one changes nothing.
package pipelinecheckconverter // import "github.com/tapedeck/tapedeck/converter/pipelinecheckconverter"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"
)

// Types of components, as they are written in configurations.
const (
	agentRun       = "agentrun"
	agentRedaction = "agentredaction"
	batch          = "batch"
	tape           = "tape"
	otlp           = "otlp"
	otlpDepth      = "otlpdepth"
)

// NewFactory returns the factory of the converter.
func NewFactory() confmap.ConverterFactory {
	return confmap.NewConverterFactory(func(set confmap.ConverterSettings) confmap.Converter {
		logger := set.Logger
		if logger == nil {
			logger = zap.NewNop()
		}
		return &converter{logger: logger}
	})
}

type converter struct{ logger *zap.Logger }

// Convert refuses pipelines that would refuse everything or lose what they acknowledge, and warns of those
// that work worse than their author thinks.
func (c *converter) Convert(_ context.Context, conf *confmap.Conf) error {
	s := read(conf)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.pipelines)) {
		p := s.pipelines[name]
		if slices.ContainsFunc(p.exporters, isType(tape)) && s.open(name, map[string]bool{}) {
			c.logger.Warn("no agentrun processor stands before the tape exporter: whoever sends can choose a tenant with the resource attribute tapedeck.run.key; "+
				"put agentrun before it, or let nobody but collectors with agentrun send to it", zap.String("pipeline", name))
		}
		for i, processor := range p.processors {
			if typeOf(processor) != agentRun {
				continue
			}
			if s.requiresRedaction(processor) && !s.redactedBefore(name, p.processors[:i], map[string]bool{}) {
				where := "no agentredaction stands before it"
				if slices.ContainsFunc(p.processors[i:], isType(agentRedaction)) {
					where = "agentredaction stands behind it"
				}
				errs = append(errs, fmt.Errorf("service::pipelines::%s: %s requires redaction, and %s: every request with spans of agents would be refused; "+
					"put agentredaction before it, or set processors::%s::redaction to none", name, processor, where, processor))
			}
			for _, at := range s.batchesBefore(name, p.processors[i+1:], map[string]bool{}) {
				errs = append(errs, fmt.Errorf("service::pipelines::%s: a batch processor stands between agentrun and the tape exporter: it acknowledges what is not stored yet, so a crash loses runs; "+
					"put it before %s, take it out, or set exporters::tape::allow_batch to true", at, processor))
			}
		}
	}
	for _, receiver := range slices.Sorted(maps.Keys(s.receivers)) {
		if typeOf(receiver) == otlp && s.receives(receiver) && s.decodesAnyDepth(receiver) {
			c.logger.Warn("an OTLP receiver decodes JSON of any depth: one request can take all memory; put the otlpdepth extension into its protocols::http::middlewares",
				zap.String("receiver", receiver))
		}
	}
	return errors.Join(errs...)
}

// receives reports whether a pipeline takes from a receiver.
func (s service) receives(receiver string) bool {
	for _, p := range s.pipelines {
		if slices.Contains(p.receivers, receiver) {
			return true
		}
	}
	return false
}

// decodesAnyDepth reports whether an OTLP receiver takes HTTP, and JSON with it, without the middleware that
// bounds its depth.
func (s service) decodesAnyDepth(receiver string) bool {
	http, on := asMap(asMap(s.receivers[receiver])["protocols"])["http"]
	if !on {
		return false
	}
	middlewares, _ := asMap(http)["middlewares"].([]any)
	return !slices.ContainsFunc(middlewares, func(m any) bool {
		id, _ := asMap(m)["id"].(string)
		return typeOf(id) == otlpDepth
	})
}

// service is what the checks need of a configuration. Parts in another form than they should have are left out, because the collector
// itself reports them.
type service struct {
	receivers  map[string]any
	processors map[string]any
	connectors map[string]any
	exporters  map[string]any
	pipelines  map[string]pipeline
}

type pipeline struct{ receivers, processors, exporters []string }

func read(conf *confmap.Conf) service {
	all := conf.ToStringMap()
	s := service{receivers: asMap(all["receivers"]), processors: asMap(all["processors"]), connectors: asMap(all["connectors"]), exporters: asMap(all["exporters"]), pipelines: map[string]pipeline{}}
	for name, v := range asMap(asMap(all["service"])["pipelines"]) {
		m := asMap(v)
		s.pipelines[name] = pipeline{asNames(m["receivers"]), asNames(m["processors"]), asNames(m["exporters"])}
	}
	return s
}

// requiresRedaction holds for everything but an explicit other value; the processor judges what is no value.
func (s service) requiresRedaction(processor string) bool {
	v, ok := asMap(s.processors[processor])["redaction"]
	return !ok || v == nil || v == "required"
}

// redactedBefore looks in the processors of a pipeline, and behind its connectors in the pipelines that feed it. One is enough: spans that others bring are
// refused at run time, and may be none of an agent.
func (s service) redactedBefore(name string, processors []string, seen map[string]bool) bool {
	if slices.ContainsFunc(processors, isType(agentRedaction)) {
		return true
	}
	seen[name] = true
	for other, p := range s.pipelines {
		if !seen[other] && s.connected(p, s.pipelines[name]) && s.redactedBefore(other, p.processors, seen) {
			return true
		}
	}
	return false
}

// open reports whether what a receiver takes gets through a pipeline without agentrun, which removes what only components may say.
func (s service) open(name string, seen map[string]bool) bool {
	p := s.pipelines[name]
	if slices.ContainsFunc(p.processors, isType(agentRun)) {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(p.receivers, func(receiver string) bool {
		if _, connector := s.connectors[receiver]; !connector {
			return true
		}
		for other, from := range s.pipelines {
			if !seen[other] && slices.Contains(from.exporters, receiver) && s.carries(receiver, other, name) && s.open(other, seen) {
				return true
			}
		}
		return false
	})
}

// carries reports whether a connector brings the signal of one pipeline into another. A connector keeps a signal what it is if a pipeline of
// that signal takes from it.
func (s service) carries(connector, from, to string) bool {
	signal := typeOf(from)
	if signal == typeOf(to) {
		return true
	}
	for name, p := range s.pipelines {
		if typeOf(name) == signal && slices.Contains(p.receivers, connector) {
			return false
		}
	}
	return true
}

// storesAtOnce holds for tape exporters, except those that may be given batches.
func (s service) storesAtOnce(exporter string) bool {
	return typeOf(exporter) == tape && asMap(s.exporters[exporter])["allow_batch"] != true
}

// batchesBefore returns the batch processors between a place in a pipeline and the exporters that store at
// once.
func (s service) batchesBefore(name string, processors []string, seen map[string]bool) (found []string) {
	seen[name] = true
	p := s.pipelines[name]
	leads := slices.ContainsFunc(p.exporters, s.storesAtOnce)
	for _, other := range slices.Sorted(maps.Keys(s.pipelines)) {
		if seen[other] || !s.connected(p, s.pipelines[other]) {
			continue
		}
		// Another agentrun on the way takes runs apart again.
		if slices.ContainsFunc(s.pipelines[other].processors, isType(agentRun)) {
			continue
		}
		leads = leads || s.leadsTo(other, map[string]bool{name: true})
		found = append(found, s.batchesBefore(other, s.pipelines[other].processors, seen)...)
	}
	if !leads {
		return nil
	}
	for _, processor := range processors {
		if typeOf(processor) == batch {
			found = append(found, name+"::"+processor)
		}
	}
	return found
}

func (s service) leadsTo(name string, seen map[string]bool) bool {
	seen[name] = true
	p := s.pipelines[name]
	if slices.ContainsFunc(p.exporters, s.storesAtOnce) {
		return true
	}
	for other, next := range s.pipelines {
		if !seen[other] && s.connected(p, next) && s.leadsTo(other, seen) {
			return true
		}
	}
	return false
}

// connected reports whether a connector leads from one pipeline into the other.
func (s service) connected(from, to pipeline) bool {
	return slices.ContainsFunc(from.exporters, func(name string) bool {
		_, ok := s.connectors[name]
		return ok && slices.Contains(to.receivers, name)
	})
}

func typeOf(id string) string {
	kind, _, _ := strings.Cut(id, "/")
	return strings.TrimSpace(kind)
}

func isType(kind string) func(string) bool {
	return func(id string) bool { return typeOf(id) == kind }
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asNames(v any) (names []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if name, ok := e.(string); ok {
			var id component.ID
			if id.UnmarshalText([]byte(name)) == nil {
				name = id.String() // as the collector reads it, without blanks
			}
			names = append(names, name)
		}
	}
	return names
}
