// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/extension/oracleextension"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/surfaces/deckmcp"
	"github.com/tapedeck/tapedeck/internal/surfaces/viewer"
	"github.com/tapedeck/tapedeck/receiver/tapereceiver"
	"github.com/tapedeck/tapedeck/tape"
)

// Of the two tenants of a deck, acme has the run forgeRun, and rival has a run with the same ids and another answer, and one of its own.
const (
	mine      = "acme"
	theirs    = "rival"
	myAnswer  = "99 units"
	hisAnswer = "41 units of the rival"
	hisText   = "Reykjavík"
)

// tenantDeck makes the deck and returns the address of rival's own tape.
func tenantDeck(t *testing.T, layout string) (dir, hisTape string) {
	t.Helper()
	dir = t.TempDir() + "/deck"
	body, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	other := write(t, "other.json", strings.ReplaceAll(string(body), myAnswer, hisAnswer))
	for _, args := range [][]string{{forge, "--tenant", mine}, {other, "--tenant", theirs}, {spans, logs, "--tenant", theirs}} {
		got := tapedeck(t, append([]string{"derive", "--redact", "off", "--layout", layout, "--to", dir}, args...)...)
		if got.code != exitOK {
			t.Fatal(got)
		}
		hisTape = lines(t, got.stdout)[0].URL
	}
	return dir, hisTape
}

// reached is what of rival's is in an output.
func reached(output string) bool {
	return strings.Contains(output, hisAnswer) || strings.Contains(output, hisText) || strings.Contains(output, openaiRun[:16])
}

// out is all that a command says. A command that names what it was asked for in an error gives nothing away.
func out(t *testing.T, asked string, args ...string) string {
	t.Helper()
	got := tapedeck(t, args...)
	if got.code == exitFailed && asked != "" {
		got.stderr = strings.ReplaceAll(got.stderr, asked, "")
	}
	return got.stdout + got.stderr
}

// withTenant adds --tenant, unless it is empty.
func withTenant(tenant string, args ...string) []string {
	if tenant != "" {
		args = append(args, "--tenant", tenant)
	}
	return args
}

// Every way to read a deck that can be limited to a tenant: what it shows for a tenant, "" being nobody's limit.
var readsOfTenants = map[string]func(t *testing.T, dir, hisTape, tenant string) string{
	"ls": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "ls", dir, "--format", "json")...)
	},
	"ls --where": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "ls", dir, "--format", "json", "--where", "tenant = 'rival' OR tenant = 'acme'")...)
	},
	"show, of the id that both have": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "show", forgeRun, "--deck", dir)...)
	},
	"show, of the trace": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "show", forgeRun[:8], "--deck", dir)...)
	},
	"show, of an id of the other": func(t *testing.T, dir, _, tenant string) string {
		return out(t, openaiRun[:16], withTenant(tenant, "show", openaiRun[:16], "--deck", dir)...)
	},
	"show, of an address of the other": func(t *testing.T, dir, hisTape, tenant string) string {
		return out(t, openaiRun[:32], withTenant(tenant, "show", hisTape)...)
	},
	"verify": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "verify", dir, "--json")...)
	},
	"export": func(t *testing.T, dir, _, tenant string) string {
		to := t.TempDir()
		if got := tapedeck(t, withTenant(tenant, "export", dir, "--format", "aiwg", "-o", to)...); got.code == exitFailed {
			t.Fatal(got)
		}
		var all strings.Builder
		err := filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			all.Write(body)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all.String()
	},
	"bisect with a run of the other": func(t *testing.T, dir, _, tenant string) string {
		return out(t, openaiRun[:16], withTenant(tenant, "bisect", openaiRun[:16], openaiRun[:16], "--deck", dir, "--json")...)
	},
	"diff with a run of the other": func(t *testing.T, dir, _, tenant string) string {
		return out(t, openaiRun[:16], withTenant(tenant, "diff", openaiRun[:16], openaiRun[:16], "--deck", dir)...)
	},
	"replay": func(t *testing.T, dir, _, tenant string) string {
		return out(t, "", withTenant(tenant, "replay", dir, "--ndjson")...)
	},
	"import --to": func(t *testing.T, dir, _, tenant string) string {
		to := t.TempDir() + "/deck"
		if got := tapedeck(t, withTenant(tenant, "import", dir, "--to", to, "--layout", "files")...); got.code != exitOK {
			t.Fatal(got)
		}
		return allOf(t, to, nil)
	},
	"viewer": func(t *testing.T, dir, _, tenant string) string {
		d := opened(t, dir)
		h := viewer.New(viewer.Config{Deck: d, Address: "deck", Tenant: tenant, SearchLimit: 100})
		var all strings.Builder
		for _, path := range []string{
			"/", "/?q=Reykjavík", "/run/" + forgeRun, "/run/" + forgeRun + "?tenant=rival", "/run/" + openaiRun + "?tenant=rival", "/run/" + openaiRun + "/evidence?tenant=rival",
			"/run/" + openaiRun + "/tape.json?tenant=rival", "/run/" + openaiRun + "/text?path=output.text&tenant=rival", "/diff?a=" + forgeRun + "&b=" + openaiRun,
			"/run/" + forgeRun + "/oracle.json?tenant=rival", "/run/" + forgeRun + "/evidence?tenant=rival",
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			body := w.Body.String()
			if w.Code != http.StatusOK || strings.HasPrefix(path, "/?q") {
				body = strings.NewReplacer(openaiRun, "", "Reykjavík", "").Replace(body) // what was asked for
			}
			all.WriteString(body)
		}
		return all.String()
	},
	"mcp": func(t *testing.T, dir, _, tenant string) string {
		d := opened(t, dir)
		server := deckmcp.New(deckmcp.Config{Catalog: catalog.Catalog{Deck: d, Tenant: tenant, SearchLimit: 100}, Version: "test"})
		a, b := mcp.NewInMemoryTransports()
		if _, err := server.Connect(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
		client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var all strings.Builder
		for _, call := range []mcp.CallToolParams{
			{Name: "list_runs", Arguments: map[string]any{}},
			{Name: "list_runs", Arguments: map[string]any{"where": "tenant = 'rival'"}},
			{Name: "show_run", Arguments: map[string]any{"run_id": forgeRun}},
			{Name: "show_run", Arguments: map[string]any{"run_id": openaiRun}},
			{Name: "read_text", Arguments: map[string]any{"run_id": openaiRun, "path": "output.text"}},
			{Name: "compare_runs", Arguments: map[string]any{"a": openaiRun, "b": openaiRun}},
			{Name: "list_findings", Arguments: map[string]any{"run_id": openaiRun}},
			{Name: "ask_oracle", Arguments: map[string]any{"run_id": forgeRun, "tool": "http_request", "args": `{"url":"http://127.0.0.1:14318/tool/counter","method":"GET"}`}},
		} {
			r, err := client.CallTool(t.Context(), &call)
			if err != nil {
				t.Fatal(err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if r.IsError {
				text = strings.ReplaceAll(text, openaiRun, "")
			}
			all.WriteString(text)
		}
		return all.String()
	},
	"tape receiver": func(t *testing.T, dir, _, tenant string) string {
		f := tapereceiver.NewFactory()
		cfg := f.CreateDefaultConfig().(*tapereceiver.Config)
		cfg.Deck, cfg.Tenant = "file://"+dir, tenant
		done := make(chan struct{})
		set := receivertest.NewNopSettings(f.Type())
		set.Logger = zap.New(zapcore.NewNopCore(), zap.Hooks()).WithOptions(zap.WrapCore(func(zapcore.Core) zapcore.Core {
			return zapcore.RegisterHooks(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "m"}), zapcore.AddSync(io.Discard), zapcore.InfoLevel), func(e zapcore.Entry) error {
				if strings.HasPrefix(e.Message, "All that was asked for") {
					close(done)
				}
				return nil
			})
		}))
		var all bytes.Buffer
		next, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
			text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.CreateTraces(t.Context(), set, cfg, next)
		if err != nil {
			t.Fatal(err)
		}
		running(t, r, func() { <-done })
		return all.String()
	},
	"oracle extension": func(t *testing.T, dir, _, tenant string) string {
		f := oracleextension.NewFactory()
		cfg := f.CreateDefaultConfig().(*oracleextension.Config)
		socket := filepath.Join(t.TempDir(), "s")
		cfg.Deck, cfg.Tenant = "file://"+dir, tenant
		cfg.HTTP.NetAddr.Transport, cfg.HTTP.NetAddr.Endpoint = confignet.TransportTypeUnix, socket
		e, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		running(t, e, func() {
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			}}}
			all.WriteString(answersOf(t, &client, "http://localhost"))
		})
		return oracleReached(all.String())
	},
	"serve --oracle": func(t *testing.T, dir, _, tenant string) string {
		s := startServer(t, withTenant(tenant, "--oracle", dir)...)
		text := answersOf(t, s.client, s.Listening)
		s.end(t)
		return oracleReached(text)
	},
}

// answersOf asks an oracle of the deck for a call of the run that both tenants have, and of the run that rival has.
func answersOf(t *testing.T, client *http.Client, base string) string {
	t.Helper()
	var all strings.Builder
	for _, id := range []string{forgeRun, openaiRun} {
		r, err := client.Post(base+"/v1/runs/"+id+"/tool-calls", "application/json", strings.NewReader(`{"replay_run_id":"r","tool_name":"http_request","args":{"url":"http://127.0.0.1:14318/tool/counter","method":"GET"}}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s %d\n", strings.ReplaceAll(string(body), openaiRun, ""), id[:4], r.StatusCode)
	}
	return all.String()
}

// oracleReached adds rival's answer to what answersOf gives where it shows that rival's runs are there: without a limit the run of both is ambiguous and the other one is there, with one neither.
func oracleReached(text string) string {
	if strings.Contains(text, openaiRun[:4]+" 200") || strings.Contains(text, theirs) {
		text += hisAnswer
	}
	return text
}

func running(t *testing.T, c component.Component, use func()) {
	t.Helper()
	if err := c.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	use()
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, dir string) *deck.Deck {
	t.Helper()
	d, err := replay.OpenDeck(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// allOf is what readers of a deck find of the traces that want chooses, nil being all: keys and content.
func allOf(t *testing.T, dir string, want func(deck.Location) bool) string {
	t.Helper()
	d := opened(t, dir)
	var all strings.Builder
	for l, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want != nil && !want(l) {
			continue
		}
		state, err := d.State(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		for _, digest := range state.Parts {
			body, err := d.ReadPart(t.Context(), l, digest)
			fmt.Fprintf(&all, "%s %s %v\n%s\n", l, digest, err, body)
		}
		for _, g := range state.Generations {
			for _, run := range g.Runs {
				for _, name := range run.Files {
					body, err := d.ReadFile(t.Context(), l, g.Generation, run.Root, name)
					fmt.Fprintf(&all, "%s %s %s %v\n%s\n", l, run.Root, name, err, body)
				}
			}
		}
	}
	return all.String()
}

// With a tenant, no way to read a deck shows anything of another one; without, the same way does, so that this test cannot pass by not looking.
func TestNoWayToReadShowsTheRunsOfAnotherTenant(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			dir, hisTape := tenantDeck(t, layout)
			for _, name := range slices.Sorted(maps.Keys(readsOfTenants)) {
				t.Run(name, func(t *testing.T) {
					read := readsOfTenants[name]
					if text := read(t, dir, hisTape, mine); reached(text) {
						t.Errorf("tenant %s is shown what is %s's:\n%.2000s", mine, theirs, text)
					}
					if text := read(t, dir, hisTape, ""); !reached(text) {
						t.Errorf("nothing of %s's is shown without a limit either:\n%.2000s", theirs, text)
					}
				})
			}
		})
	}
}

// Every way to change a deck that knows a tenant. Each is aimed at what both tenants have, or at what rival has.
var changesOfTenants = map[string]func(t *testing.T, dir, tenant string){
	"more evidence of the trace": func(t *testing.T, dir, tenant string) {
		deliver(t, dir, tenant, func(ptrace.Span) {})
	},
	"a late tag of a replay": func(t *testing.T, dir, tenant string) {
		deliver(t, dir, tenant, func(s ptrace.Span) { s.Attributes().PutStr("replay_run_id", "late") })
	},
	"gc --erase, of the trace that both have": func(t *testing.T, dir, tenant string) {
		tapedeck(t, "gc", dir, "--erase", forgeRun[:32], "--yes", "--tenant", tenant)
	},
	"gc --erase, of the other": func(t *testing.T, dir, tenant string) {
		tapedeck(t, "gc", dir, "--erase", openaiRun[:32], "--yes", "--tenant", tenant)
	},
	"gc": func(t *testing.T, dir, tenant string) {
		f := gcFlags{days: 1, failureDays: 1, undecidedDays: 1, yes: true, tenant: tenant, now: func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }}
		if err := f.run(t.Context(), "file://"+dir, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	},
	"derive of other evidence": func(t *testing.T, dir, tenant string) {
		body, err := os.ReadFile(forge)
		if err != nil {
			t.Fatal(err)
		}
		tapedeck(t, "derive", write(t, "x.json", strings.ReplaceAll(string(body), myAnswer, "7 units")), "--redact", "off", "--to", dir, "--tenant", tenant)
	},
	"match --record": func(t *testing.T, dir, tenant string) {
		tapedeck(t, "match", openaiRun, forgeRun, "--record", "--force", "--deck", dir, "--tenant", tenant)
	},
	"gc --hold": func(t *testing.T, dir, tenant string) {
		tapedeck(t, "gc", dir, "--hold", openaiRun[:32], "--reason", "audit", "--tenant", tenant)
	},
}

// deliver brings one more span of the trace that both have to the deck, as the exporter gets it from agentrun for a tenant.
func deliver(t *testing.T, dir, tenant string, edit func(ptrace.Span)) {
	t.Helper()
	body, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr("tapedeck.run.key", tenant+"/"+forgeRun[:32])
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				s.Attributes().PutStr("note", "once more")
				s.SetEndTimestamp(s.EndTimestamp() + pcommon.Timestamp(time.Millisecond))
				edit(s)
			}
		}
	}
	f := tapeexporter.NewFactory()
	cfg := f.CreateDefaultConfig().(*tapeexporter.Config)
	cfg.Deck, cfg.Gate, cfg.Reel.MaxRuns = "file://"+dir, "off", 1
	e, err := f.CreateTraces(t.Context(), exportertest.NewNopSettings(f.Type()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	running(t, e, func() {
		if err := e.ConsumeTraces(t.Context(), td); err != nil {
			t.Fatal(err)
		}
	})
}

// notesOf are the holds of a deck and the records of replays: what is noted about runs, by tenants.
func notesOf(t *testing.T, dir, tenant string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.Contains(path, "hold") || strings.Contains(path, "_status")) && strings.Contains(path, tenant) {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// A change for one tenant leaves every byte of the other's as it is; the same change for rival himself does not, so that it is one.
func TestNoChangeForATenantTouchesAnother(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			made, _ := tenantDeck(t, layout)
			for _, name := range slices.Sorted(maps.Keys(changesOfTenants)) {
				t.Run(name, func(t *testing.T) {
					his := func(dir string) string {
						return allOf(t, dir, func(l deck.Location) bool { return l.Of(theirs) }) + notesOf(t, dir, theirs)
					}
					for _, tenant := range []string{mine, theirs} {
						dir := t.TempDir() + "/deck"
						if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
							t.Fatal(err)
						}
						before := his(dir)
						if !strings.Contains(before, hisAnswer) || strings.Contains(before, myAnswer) {
							t.Fatal("the deck of the test is not what it should be")
						}
						changesOfTenants[name](t, dir, tenant)
						if same := his(dir) == before; same != (tenant == mine) {
							t.Errorf("changed for %s: what is %s's is as it was: %v", tenant, theirs, same)
						}
					}
				})
			}
		})
	}
}

// The commands that finish tapes, of both tenants: a run whose content lies elsewhere, and one whose traces were never joined. For one tenant they leave every byte of the other's as
// it is and say nothing of it; for rival himself they change it.
func TestTapesAreFinishedForOneTenantAlone(t *testing.T) {
	folder := uploadFolder(t)
	run := uploadedRun(t, folder, "")
	for _, layout := range []string{"files", "reels"} {
		made := t.TempDir() + "/deck"
		for _, tenant := range []string{mine, theirs} {
			got := tapedeck(t, append([]string{"derive", run, "--redact", "off", "--layout", layout, "--to", made, "--no-join", "--tenant", tenant}, tornRun(t)...)...)
			if got.code != exitOK {
				t.Fatal(got)
			}
		}
		for name, args := range map[string][]string{"resolve": {"resolve", "--allow", folder, "--redact", "off"}, "join": {"join"}} {
			t.Run(layout+" "+name, func(t *testing.T) {
				for _, tenant := range []string{mine, theirs} {
					dir := t.TempDir() + "/deck"
					if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
						t.Fatal(err)
					}
					his := func() string { return allOf(t, dir, func(l deck.Location) bool { return l.Of(theirs) }) }
					before := his()
					got := tapedeck(t, append(args, dir, "--tenant", tenant)...)
					written := lines(t, got.stdout)
					if got.code != exitOK || len(written) == 0 {
						t.Fatalf("%+v", got)
					}
					if other := map[string]string{mine: theirs, theirs: mine}[tenant]; strings.Contains(got.stdout+got.stderr, "/"+other+"/") || strings.Contains(got.stdout+got.stderr, "="+other+"/") {
						t.Errorf("for %s it tells of %s: %+v", tenant, other, got)
					}
					if same := his() == before; same != (tenant == mine) {
						t.Errorf("changed for %s: what is %s's is as it was: %v", tenant, theirs, same)
					}
				}
			})
		}
	}
}

// A tape that lies in the folder of another tenant, and says whose it is, is nobody's there.
func TestATapeInTheFolderOfAnotherTenantIsFound(t *testing.T) {
	dir, hisTape := tenantDeck(t, "files")
	from := filepath.Dir(strings.TrimPrefix(hisTape, "file://"))
	to := strings.Replace(from, "/"+theirs+"/", "/"+mine+"/", 1)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "verify", filepath.Join(to, tape.TapeFile), "--json")
	var v replay.Verdict
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || got.code != exitPartial || v.Problems[0].Code != "place" {
		t.Errorf("%+v %v", got, err)
	}
	if text := out(t, openaiRun[:32], "show", openaiRun[:16], "--deck", dir, "--tenant", mine); reached(text) {
		t.Errorf("shown: %s", text)
	}
}
