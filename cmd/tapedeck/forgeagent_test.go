// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/oracle/oracleclient"
)

const (
	forgeTrace      = "4bf92f3577b34da6a3ce929d0e0e4736"
	forgeInvocation = "5832e91c91f2faa1"
	forgeAudit      = "../../testdata/corpus/forge/stock-helper.audit.ndjson"
)

// runForge does what the recorded Forge agent did: it takes the A2A request, asks model and tool, sends the spans and writes audit records to
// stderr, all in the recorded forms. There is no Forge binary to run: its module is not on the module proxy.
func runForge(w http.ResponseWriter, r *http.Request) {
	if err := forgeInvoked(r); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"completed"},"artifacts":[{"name":"response","parts":[{"kind":"text","text":"There are 99 units."}]}]}}`)
}

func forgeInvoked(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "forge: asked %s\nforge: model %s, fallbacks %q\n", body, os.Getenv("MODEL_NAME"), os.Getenv("FORGE_MODEL_FALLBACKS"))
	audit, err := os.ReadFile(forgeAudit)
	if err != nil {
		return err
	}
	for _, line := range strings.SplitN(string(audit), "\n", 4)[:3] {
		fmt.Fprintln(os.Stderr, line)
	}
	text, err := os.ReadFile(forge)
	if err != nil {
		return err
	}
	var recorded struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					Name       string
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		return err
	}
	for _, rs := range recorded.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, span := range ss.Spans {
				of := map[string]string{}
				for _, a := range span.Attributes {
					of[a.Key] = a.Value.StringValue
				}
				if sent := of["gen_ai.input.messages"]; sent != "" {
					if err := postJSON(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", map[string]any{"model": "gpt-4o", "messages": json.RawMessage(sent)}, nil); err != nil {
						return err
					}
				}
				if args := of["forge.tool.args"]; args != "" {
					// The loop of Forge gives the error of a tool to the model and goes on, whatever it is.
					if _, err := oracleclient.FromEnv().Execute(context.Background(), of["forge.tool.name"], json.RawMessage(args)); err != nil {
						fmt.Fprintf(os.Stderr, "forge: Error executing tool %s: %v\n", of["forge.tool.name"], err)
					}
				}
			}
		}
	}
	again := strings.ReplaceAll(strings.ReplaceAll(string(text), forgeTrace, fmt.Sprintf("%016x%016x", os.Getpid(), time.Now().UnixNano())), forgeInvocation, "0123456789abcdef")
	return postJSON(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+"/v1/traces", json.RawMessage(again), nil)
}
