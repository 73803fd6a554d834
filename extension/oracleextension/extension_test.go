// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleextension

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/extension/oracleextension/internal/metadata"
	"github.com/tapedeck/tapedeck/extension/oracleextension/internal/metadatatest"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// recorded is a run of Forge.
func recorded(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/corpus/forge/duplicate_args.otlp.json")
	require.NoError(t, err)
	return string(data)
}

// writeRun writes a run into a deck, redacted if there is a key, and returns its run id.
func writeRun(t *testing.T, url, run string, key *redact.Key) string {
	t.Helper()
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(run))
	require.NoError(t, err)
	if key != nil {
		r, err := redact.New(redact.Default().WithKey(key))
		require.NoError(t, err)
		r.Traces(traces, &redact.Report{})
	}
	all := evidence.NewSet()
	all.AddTraces(traces)
	d, err := deck.Open(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}})
	for _, set := range all.Split() {
		written, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: set.TraceID, Set: set.Set, Complete: true})
		if err == nil && len(written) == 1 {
			return written[0].RunID
		}
	}
	t.Fatal("no run was written")
	return ""
}

func start(t *testing.T, cfg *Config) (*oracleExtension, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	set := extensiontest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	e, err := newOracleExtension(set, cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.Background())) })
	return e, telemetry
}

func config(url string) *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Deck, cfg.HTTP.NetAddr.Endpoint = url, "127.0.0.1:0"
	return cfg
}

func call(t *testing.T, e *oracleExtension, path, body string) (int, map[string]any) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+e.address.String()+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(data, &answer), "%s", data)
	return response.StatusCode, answer
}

func TestExtensionServesTheRunsOfADeck(t *testing.T) {
	url := "file://" + t.TempDir()
	run := writeRun(t, url, recorded(t), nil)
	e, telemetry := start(t, config(url))
	const ask = `{"replay_run_id":"r","tool_name":"http_request","args":{"url":"http://127.0.0.1:14318/tool/counter","method":"GET"}}`
	for _, want := range []string{"98", "97"} {
		status, answer := call(t, e, "/v1/runs/"+run+"/tool-calls", ask)
		require.Equal(t, 200, status)
		require.Equal(t, true, answer["hit"])
		require.Contains(t, answer["response"], want)
	}
	_, answer := call(t, e, "/v1/runs/"+run[:8]+"/tool-calls", ask)
	require.Equal(t, "exhausted", answer["reason"], "the same session, by a shorter name")
	_, answer = call(t, e, "/?run="+run, ask)
	require.Equal(t, "exhausted", answer["reason"], "the same session, as a client of Forge names it")
	status, _ := call(t, e, "/v1/tool-calls", ask)
	require.Equal(t, 409, status)
	status, _ = call(t, e, "/v1/runs/"+strings.Repeat("0", 32)+"/tool-calls", ask)
	require.Equal(t, 404, status)
	metadatatest.AssertEqualExtensionOracleCalls(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 2, Attributes: attribute.NewSet(attribute.String("outcome", "hit"))},
		{Value: 2, Attributes: attribute.NewSet(attribute.String("outcome", "exhausted"))},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestExtensionStartsWhileTheStoreIsAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	e, _ := start(t, config("file://"+dir))
	const ask = `{"replay_run_id":"r","tool_name":"http_request","args":{"url":"http://127.0.0.1:14318/tool/counter","method":"GET"}}`
	status, _ := call(t, e, "/v1/runs/"+strings.Repeat("0", 32)+"/tool-calls", ask)
	require.Equal(t, 404, status)
	run := writeRun(t, "file://"+dir, recorded(t), nil)
	status, _ = call(t, e, "/v1/runs/"+run+"/tool-calls", ask)
	require.Equal(t, 200, status)
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestLiveValueIsMatchedWithItsTokenUnderTheKey(t *testing.T) {
	secret := "ghp_" + "R7sK2mQ9xV4bT1nL8cZ3wY6dF5hJ0pA2eG4u"
	keyFile := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(keyFile, []byte("a key for tests, 0123456789abcdef"), 0o600))
	key, err := redact.KeyFromFile(keyFile, "")
	require.NoError(t, err)
	deck := "file://" + t.TempDir()
	run := writeRun(t, deck, strings.ReplaceAll(recorded(t), "tool/counter", "tool/counter?"+secret), key)
	ask := `{"replay_run_id":"r","tool_name":"http_request","args":{"url":"http://127.0.0.1:14318/tool/counter?` + secret + `","method":"GET"}}`
	for _, file := range []string{"", keyFile} {
		cfg := config(deck)
		cfg.RedactionKey.File = file
		e, _ := start(t, cfg)
		_, answer := call(t, e, "/v1/runs/"+run+"/tool-calls", ask)
		require.Equal(t, file != "", answer["hit"], "key %q: %v", file, answer)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}

func TestExtensionStartFailsForWhatOnlyAnEditCanMend(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"rules": func(c *Config) { c.Rules = filepath.Join(t.TempDir(), "none.yaml") },
		"tools": func(c *Config) { c.Tools = []string{filepath.Join(t.TempDir(), "none.json")} },
		"key":   func(c *Config) { c.RedactionKey.File = filepath.Join(t.TempDir(), "none") },
		"deck":  func(c *Config) { c.Deck = "nosuch://deck" },
		"both":  func(c *Config) { c.Live, c.Refuse = []string{"t"}, []string{"t"} },
		"port":  func(c *Config) { c.HTTP.NetAddr.Endpoint = "127.0.0.1:notaport" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config("mem://start-" + name)
			change(cfg)
			var e component.Component
			e, err := NewFactory().Create(t.Context(), extensiontest.NewNopSettings(metadata.Type), cfg)
			require.NoError(t, err)
			require.Error(t, e.Start(t.Context(), componenttest.NewNopHost()))
			require.NoError(t, e.Shutdown(t.Context()))
		})
	}
}
