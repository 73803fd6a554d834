// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package tempo reads OTLP as the APIs of trace stores wrap it: Tempo's GET /api/traces/{id},
// {"batches":[…]}, and /api/v2/traces/{id}, {"trace":{"resourceSpans":[…]}}, both with ids in base64; and
// that of Jaeger's API v3, {"result":{"resourceSpans":[…]}}. The members are those of pkg/tempopb/tempo.proto
// (github.com/grafana/tempo) and api_v3/query_service.proto (github.com/jaegertracing/jaeger-idl v0.14.0).
package tempo

import (
	"bytes"
	"iter"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Format is that of Tempo's API and its like.
var Format = imports.Format{Name: "tempo", Title: "API of Tempo, API v3 of Jaeger", Tells: tells, Read: read}

// outer are the members that hold resources, or an object that does.
var outer = []string{"batches", "trace", "result", "resourceSpans"}

func tells(head []byte) bool {
	rest := bytes.TrimLeft(head, "\ufeff \t\r\n")
	if rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("{")), " \t\r\n"); len(rest) == 0 {
		return false
	}
	begins := func(name string) bool { return bytes.HasPrefix(rest, []byte(`"`+name+`"`)) }
	return slices.ContainsFunc(outer[:3], begins) &&
		slices.ContainsFunc([]string{`"resourceSpans"`, `"scopeSpans"`, `"instrumentationLibrarySpans"`}, func(name string) bool { return bytes.Contains(head, []byte(name)) })
}

func read(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows(nil, func(text []byte) (otlpfile.Document, error) {
		resources, err := resourcesOf(string(text), 0)
		if err != nil {
			return otlpfile.Document{}, err
		}
		return imports.OTLP([]byte(`{"resourceSpans":` + resources + `}`))
	})
}

// resourcesOf is the text of the resources in an object.
func resourcesOf(text string, depth int) (found string, err error) {
	err = exactjson.RawMembers(text, func(name, raw string) error {
		if found != "" || !slices.Contains(outer, name) || raw == "" {
			return nil
		}
		if raw[0] == '{' && depth < 2 {
			found, _ = resourcesOf(raw, depth+1)
		} else if raw[0] == '[' {
			found = raw
		}
		return nil
	})
	switch {
	case err != nil:
		return "", otlpfile.ErrMalformed
	case found == "":
		return "", otlpfile.ErrNotTelemetry
	}
	return found, nil
}
