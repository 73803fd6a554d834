// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// recorded makes cases of the recorded runs: each string with a planted secret, and each leaf without one, decoded down to the last
// JSON. The planted secrets are named in the truth files.
func recorded(dir string) (cases []Case, err error) {
	var planted []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".truth.json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var truth struct{ Secrets []string }
		if err := json.Unmarshal(text, &truth); err != nil {
			return err
		}
		for _, s := range truth.Secrets {
			if !slices.Contains(planted, s) {
				planted = append(planted, s)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	seen := map[[2]string]bool{}
	c := &collector{planted: planted, add: func(x Case) {
		id := [2]string{x.Key, string(x.Text)}
		if len(x.Needle) == 0 && len(x.Text) < 4 || seen[id] {
			return
		}
		seen[id] = true
		cases = append(cases, x)
	}}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".truth.json") || filepath.Ext(path) != ".json" {
			return err
		}
		for doc, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				return nil // the corpus holds files that are no telemetry
			}
			for _, rs := range doc.Traces.ResourceSpans().All() {
				c.attributes(rs.Resource().Attributes())
				for _, ss := range rs.ScopeSpans().All() {
					c.leaf("", ss.Scope().Name())
					c.leaf("version", ss.Scope().Version())
					for _, s := range ss.Spans().All() {
						c.leaf("", s.Name())
						c.leaf("", s.Status().Message())
						c.attributes(s.Attributes())
						for _, e := range s.Events().All() {
							c.leaf("", e.Name())
							c.attributes(e.Attributes())
						}
					}
				}
			}
			for _, rl := range doc.Logs.ResourceLogs().All() {
				c.attributes(rl.Resource().Attributes())
				for _, sl := range rl.ScopeLogs().All() {
					for _, lr := range sl.LogRecords().All() {
						c.value("", lr.Body())
						c.attributes(lr.Attributes())
					}
				}
			}
		}
		return nil
	})
	return cases, err
}

type collector struct {
	planted []string
	add     func(Case)
}

func (c *collector) attributes(m pcommon.Map) {
	for k, v := range m.All() {
		c.value(k, v)
	}
}

func (c *collector) value(key string, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		c.attributes(v.Map())
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			c.value(key, e)
		}
	case pcommon.ValueTypeEmpty:
	default:
		text := v.AsString()
		var found []string
		for _, s := range c.planted {
			if strings.Contains(text, s) {
				found = append(found, s)
			}
		}
		if found != nil {
			c.add(Case{Set: "planted in recorded runs", Kind: "attribute", Key: key, Text: []byte(text), Needle: found})
		}
		c.leaf(key, text)
	}
}

// leaf adds the leaves of a text that hold no planted secret.
func (c *collector) leaf(key, text string) {
	var v any
	if t := strings.TrimSpace(text); t != "" && strings.IndexByte(`{["`, t[0]) >= 0 && json.Unmarshal([]byte(t), &v) == nil {
		c.json(key, v)
		return
	}
	// Any eight bytes of a planted secret make a leaf one that holds one: some are cut.
	for _, s := range c.planted {
		for i := 0; i+8 <= len(s); i++ {
			if strings.Contains(text, s[i:i+8]) {
				return
			}
		}
	}
	c.add(Case{Set: "benign leaves of recorded runs", Kind: "leaf", Key: key, Text: []byte(text)})
}

func (c *collector) json(key string, v any) {
	switch v := v.(type) {
	case string:
		c.leaf(key, v)
	case []any:
		for _, e := range v {
			c.json(key, e)
		}
	case map[string]any:
		for k, e := range v {
			c.json(k, e)
		}
	case float64:
		text, _ := json.Marshal(v)
		c.leaf(key, string(text))
	}
}
