// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/replay"

	"github.com/tapedeck/tapedeck/internal/deck"
)

const uploadTrace = "0af7651916cd43dd8448eb211c80319c"

// uploads are the contents of a run with one tool call, as OpenTelemetry's upload hook stores them.
var uploads = map[string]string{
	"in1.json":   `[{"role":"user","parts":[{"type":"text","content":"How warm is it?"}]}]`,
	"out1.json":  `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"weather","arguments":{"n":9007199254740993}}],"finish_reason":"tool_calls"}]`,
	"in2.json":   `[{"role":"user","parts":[{"type":"text","content":"How warm is it?"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"weather","arguments":{"n":9007199254740993}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"7"}]}]`,
	"out2.json":  `[{"role":"assistant","parts":[{"type":"text","content":"7 degrees."}],"finish_reason":"stop"}]`,
	"sys.json":   `[{"type":"text","content":"Be brief."}]`,
	"tools.json": `[{"type":"function","name":"weather","parameters":{"type":"object"}}]`,
}

// uploadedRun is a file of telemetry whose contents lie below base, or stand on the spans when base is empty. attrs go to the resource.
func uploadedRun(t *testing.T, base, attrs string) string {
	t.Helper()
	var spans []string
	span := func(id, parent, name string, start, end int, attributes ...string) {
		spans = append(spans, fmt.Sprintf(`{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,"startTimeUnixNano":"%d000000","endTimeUnixNano":"%d000000","attributes":[%s]}`,
			uploadTrace, id, parent, name, start, end, strings.Join(attributes, ",")))
	}
	str := func(k, v string) string { return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, k, v) }
	content := func(k, file string) string {
		if base == "" {
			return str(k, uploads[file])
		}
		return str(k+"_ref", base+"/"+file)
	}
	chat := func(id string, start, end int, in, out string) {
		span(id, "b7ad6b7169203331", "chat m", start, end, str("gen_ai.operation.name", "chat"), str("gen_ai.request.model", "m"),
			content("gen_ai.input.messages", in), content("gen_ai.output.messages", out),
			content("gen_ai.system_instructions", "sys.json"), content("gen_ai.tool.definitions", "tools.json"))
	}
	span("b7ad6b7169203331", "", "invoke_agent a", 1, 100, str("gen_ai.operation.name", "invoke_agent"), str("gen_ai.agent.name", "a"))
	chat("00f067aa0ba902b7", 2, 10, "in1.json", "out1.json")
	span("53995c3f42cd8ad8", "b7ad6b7169203331", "execute_tool weather", 11, 12, str("gen_ai.operation.name", "execute_tool"), str("gen_ai.tool.name", "weather"),
		str("gen_ai.tool.call.id", "c1"), str("gen_ai.tool.call.arguments", `{"n":9007199254740993}`), str("gen_ai.tool.call.result", "7"))
	chat("3c191d03fa8be065", 20, 30, "in2.json", "out2.json")
	return write(t, "run.json", fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"scope":{"name":"s"},"spans":[%s]}]}]}`, attrs, strings.Join(spans, ",")))
}

func uploadFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range uploads {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func parts(files map[string]string) int {
	n := 0
	for name := range files {
		if strings.HasSuffix(name, deck.PartSuffix) {
			n++
		}
	}
	return n
}

func derived(t *testing.T, file string) (dir string, made line) {
	t.Helper()
	dir = t.TempDir()
	got := tapedeck(t, "derive", file, "--to", dir, "--redact", "off")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return dir, lines(t, got.stdout)[0]
}

func TestResolveGivesTheTapeThatInlineContentGives(t *testing.T) {
	folder := uploadFolder(t)
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	inline, want := derived(t, uploadedRun(t, "", ""))
	for _, base := range []string{folder, "file://" + folder, server.URL} {
		dir, before := derived(t, uploadedRun(t, base, ""))
		if before.Grade == want.Grade || before.Findings == 0 {
			t.Fatalf("nothing is missing: %+v", before)
		}
		untouched := contents(t, dir)
		rehearsed := tapedeck(t, "resolve", dir, "--allow", base, "--redact", "off", "--dry-run")
		if diff := cmp.Diff(untouched, contents(t, dir)); diff != "" {
			t.Fatalf("a rehearsal writes: %.500s", diff)
		}
		var after map[string]string
		for range 2 {
			got := tapedeck(t, "resolve", dir, "--allow", base, "--redact", "off")
			if diff := cmp.Diff(rehearsed, got, cmp.AllowUnexported(result{})); diff != "" || got.code != exitOK {
				t.Fatalf("%+v %s", got, diff)
			}
			made := lines(t, got.stdout)[0]
			made.URL = want.URL
			if diff := cmp.Diff(want, made); diff != "" {
				t.Error(diff)
			}
			if files := contents(t, dir); after == nil {
				after = files
			} else if diff := cmp.Diff(after, files); diff != "" {
				t.Errorf("repeating it changes the deck: %.500s", diff)
			}
		}
		if n := parts(after); n != 2 {
			t.Errorf("%d parts, want 2", n)
		}
		if got := tapedeck(t, "verify", dir); got.code != exitOK {
			t.Errorf("%+v", got)
		}
		for _, deck := range []string{inline, dir} {
			got := tapedeck(t, "show", uploadTrace, "--deck", deck)
			if !strings.Contains(got.stdout, "Be brief.") || !strings.Contains(got.stdout, "7 degrees.") || strings.Contains(got.stdout, "external") {
				t.Errorf("%s: %s", deck, got.stdout)
			}
		}
	}
}

func TestResolveTellsWhatItLeft(t *testing.T) {
	_, clean := derived(t, uploadedRun(t, "", ""))
	folder := uploadFolder(t)
	if err := os.WriteFile(filepath.Join(folder, "out2.json"), []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := "file://" + folder
	dir, _ := derived(t, uploadedRun(t, base, ""))
	got := tapedeck(t, "resolve", dir, uploadTrace+"-b7ad6b7169203331", "--allow", base, "--redact", "off")
	if got.code != exitPartial || len(lines(t, got.stdout)) != 1 || got.stderr != "tapedeck: trace "+uploadTrace+": "+base+"/out2.json: not a JSON list or object (6 bytes)\n" {
		t.Errorf("%+v", got)
	}
	// Mended, the rest follows, and nothing conflicts.
	if err := os.WriteFile(filepath.Join(folder, "out2.json"), []byte(uploads["out2.json"]), 0o644); err != nil {
		t.Fatal(err)
	}
	got = tapedeck(t, "resolve", dir, uploadTrace[:8], "--allow", base, "--redact", "off")
	if made := lines(t, got.stdout); got.code != exitOK || got.stderr != "" || len(made) != 1 || made[0].Findings != clean.Findings {
		t.Errorf("%+v", got)
	}
}

func TestResolveFetchesNothingThatIsNotAllowed(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	dir, _ := derived(t, uploadedRun(t, server.URL+"/up/../x?sig=secret", ""))
	before := contents(t, dir)
	got := tapedeck(t, "resolve", dir, "--allow", server.URL+"/up", "--redact", "off")
	if got.code != exitPartial || got.stdout != "" || asked != 0 || strings.Contains(got.stderr, "secret") || !strings.Contains(got.stderr, "dots") {
		t.Errorf("%d asked, %+v", asked, got)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("%.500s", diff)
	}
}

func TestResolveKeepsAReplayWhereItLies(t *testing.T) {
	_, clean := derived(t, uploadedRun(t, "", ""))
	folder := uploadFolder(t)
	for _, tag := range []string{"replay-1", "Replay No. 1"} {
		dir, _ := derived(t, uploadedRun(t, folder, fmt.Sprintf(`{"key":"replay_run_id","value":{"stringValue":%q}}`, tag)))
		got := tapedeck(t, "resolve", dir, "--allow", folder, "--redact", "off")
		if made := lines(t, got.stdout); got.code != exitOK || len(made) != 1 || made[0].Findings != clean.Findings || !strings.Contains(made[0].URL, "/replays/replay") {
			t.Errorf("%+v", got)
		}
		for name := range contents(t, dir) {
			if strings.HasPrefix(name, "/runs/") && !deck.IsNote(strings.TrimPrefix(name, "/")) {
				t.Errorf("%s is written", name)
			}
		}
	}
}

func TestResolveOfADeckWithoutReferences(t *testing.T) {
	dir, _ := newDeck(t)
	before := contents(t, dir)
	if diff := cmp.Diff(result{}, tapedeck(t, "resolve", dir, "--allow", "/nowhere", "--redact", "off"), cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("%.500s", diff)
	}
}

func TestResolveKnowsAnEscapedTenant(t *testing.T) {
	_, clean := derived(t, uploadedRun(t, "", ""))
	folder, dir := uploadFolder(t), t.TempDir()
	tapedeck(t, "derive", uploadedRun(t, folder, ""), "--to", dir, "--redact", "off", "--tenant", "Team A")
	got := tapedeck(t, "resolve", dir, "--allow", folder, "--redact", "off")
	if made := lines(t, got.stdout); got.code != exitOK || len(made) != 1 || made[0].Findings != clean.Findings {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"resolve"}, "resolve needs a DECK; see tapedeck resolve --help"},
		{[]string{"resolve", "testdata", "--allow", "/x", "--redact", ""}, `--redact is empty; say "off" if nothing shall be redacted`},
		{[]string{"resolve", "testdata", "--redact", "off"}, "--allow is missing: nothing is fetched that is not allowed"},
		{[]string{"resolve", "mem://x", "--allow", "/x", "--redact", "off"}, replay.ErrMem.Error()},
		{[]string{"resolve", "testdata", "--allow", "https://u:p@h/x?s=1", "--redact", "off"}, "--allow: prefix https://h/x: it carries credentials"},
		{[]string{"resolve", "testdata", "--allow", "/x", "--redact", "off", "--timeout", "0s"}, "--timeout must be positive"},
		{[]string{"resolve", "testdata", "--allow", "/x", "--redact", "off", "--formats", "oracle"}, `--formats must contain "tape"`},
		{[]string{"resolve", "testdata", "--max-bytes", "1TiB"}, `invalid argument "1TiB" for "--max-bytes" flag: want a size from 1B to 512MiB, such as 64MiB`},
	} {
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
	if got := tapedeck(t, "resolve", t.TempDir(), "--allow", "/x", "--redact", "off"); got.code != exitFailed || !strings.HasSuffix(got.stderr, " holds no deck\n") {
		t.Errorf("%+v", got)
	}
	dir, _ := newDeck(t)
	if got := tapedeck(t, "resolve", dir, "deadbeef", "--allow", "/x", "--redact", "off"); got.code != exitFailed || !strings.Contains(got.stderr, "no tape for") {
		t.Errorf("%+v", got)
	}
}
