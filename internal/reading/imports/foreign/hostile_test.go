// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package foreign_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// exports returns the recordings of exports with a name, by their path; "" is one of each kind.
func exports(t testing.TB, name string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(root + "testdata/imports/*/*/" + name + "*.json.zst")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	texts, kinds := map[string][]byte{}, map[string]bool{}
	for _, file := range files {
		kind := filepath.Dir(filepath.Dir(file))
		if name == "" && kinds[kind] {
			continue
		}
		kinds[kind] = true
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if texts[file], err = dec.DecodeAll(packed, nil); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// readAll reads a text as a file of any format. Every error has a place, and no content.
func readAll(t testing.TB, text []byte, opts otlpfile.Options) (set *evidence.Set, refused []error) {
	t.Helper()
	set = evidence.NewSet()
	for doc, err := range foreign.Read(bytes.NewReader(text), "in", opts) {
		if err != nil {
			var e *otlpfile.Error
			if !errors.As(err, &e) || e.Name != "in" {
				t.Errorf("an error without its place: %v", err)
			}
			refused = append(refused, err)
			continue
		}
		set.AddTraces(doc.Traces)
		set.AddLogs(doc.Logs)
	}
	return set, refused
}

func canonical(t testing.TB, set *evidence.Set) []byte {
	t.Helper()
	body, err := set.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestAFileTwiceIsTheSameEvidence: what a file gives depends on nothing but its content.
func TestAFileTwiceIsTheSameEvidence(t *testing.T) {
	for path, text := range exports(t, "") {
		once, refused := readAll(t, text, otlpfile.Options{})
		twice, _ := readAll(t, append(append(bytes.Clone(text), '\n'), text...), otlpfile.Options{})
		if len(refused) > 0 || once.Len() == 0 || !bytes.Equal(canonical(t, once), canonical(t, twice)) {
			t.Errorf("%s: %d items, %d of it twice, %v", path, once.Len(), twice.Len(), refused)
		}
	}
}

// TestATruncatedExportIsRefusedAtItsEnd: never silently, and what stands before the cut is read.
func TestATruncatedExportIsRefusedAtItsEnd(t *testing.T) {
	for path, text := range exports(t, "") {
		text = bytes.TrimSpace(text)
		whole, _ := readAll(t, text, otlpfile.Options{})
		for cut := 2; cut < 100; cut += 7 {
			part, refused := readAll(t, text[:len(text)*cut/100], otlpfile.Options{})
			if len(refused) == 0 && text[len(text)*cut/100-1] != '\n' {
				t.Errorf("%s cut at %d %%: %d items and no word", path, cut, part.Len())
			}
			if part.Len() > whole.Len() {
				t.Errorf("%s cut at %d %%: %d items of %d", path, cut, part.Len(), whole.Len())
			}
		}
	}
}

// TestHostileRowsAreRefusedOrRead: what no parser may stumble over.
func TestHostileRowsAreRefusedOrRead(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	less := strings.Repeat(`{"a":[`, 600) + strings.Repeat("]}", 600)
	for name, row := range map[string]string{
		"jaeger":     `{"data":[{"traceID":"4bf92f3577b34da6a3ce929d0e0e4736","spans":[{"traceID":"4bf92f3577b34da6a3ce929d0e0e4736","spanID":"ID","operationName":"TEXT","tags":[{"key":"openinference.span.kind","type":"string","value":"LLM"},{"key":"a","type":"json","value":VALUE}],"startTime":18446744073709551615,"duration":18446744073709551615}]}]}`,
		"phoenix":    `{"data":[{"name":"TEXT","context":{"trace_id":"ID","span_id":"ID"},"span_kind":"LLM","start_time":"TEXT","attributes":{"a":VALUE,"tool.parameters":VALUE,"metadata.a":1,"metadata.a.b":2}}]}`,
		"data frame": `{"name":"TEXT","context.trace_id":"ID","context.span_id":"ID","span_kind":"LLM","start_time":1e300,"attributes.a":VALUE,"events":null}`,
		"langfuse":   `{"id":"ID","traceId":"ID","type":"TEXT","parentObservationId":"ID","input":VALUE,"metadata":VALUE,"startTime":"TEXT"}`,
		"trace":      `{"id":"ID","timestamp":"TEXT","sessionId":null,"input":VALUE,"output":1,"observations":[{"id":"ID","type":"TEXT","input":VALUE},{"id":"b","type":"SPAN"}]}`,
		"langsmith":  `{"id":"ID","trace_id":"ID","run_type":"llm","name":"TEXT","inputs":VALUE,"extra":VALUE,"child_runs":[{"id":"ID","run_type":"tool","inputs":VALUE}]}`,
		"tempo":      `{"batches":[{"scopeSpans":[{"spans":[{"traceId":"S/kvNXezTaajzpKdDg5HNg==","spanId":"APBnqgupArc=","name":"TEXT","attributes":[{"key":"openinference.span.kind","value":{"stringValue":"LLM"}},{"key":"a","value":{"stringValue":"ID"}}]}]}],"x":VALUE}]}`,
	} {
		for _, values := range [][3]string{
			{"00f067aa0ba902b7", "plain", "1"}, {"../../etc/passwd", "../..", `"x"`}, {"C:\\\\nul", "\\u0000", "null"}, {"a", "\xff\xfe", `"\xff"`}, {"b", "x", deep}, {"c", "x", less},
			{strings.Repeat("f", 1<<16), "x", `{"":{"":1},"a":1,"a":2}`}, {"", "", ""}, {"\\ud800", "\\ud800", `"\\ud800"`}, {"é", "x", "1e999999"}, {"d", "x", "12345678901234567890123456789"},
		} {
			text := strings.NewReplacer("ID", values[0], "TEXT", values[1], "VALUE", values[2]).Replace(row)
			set, refused := readAll(t, []byte(text), otlpfile.Options{})
			if set.Len() == 0 && len(refused) == 0 {
				t.Errorf("%s, %.40q: neither read nor refused", name, values)
			}
			for _, trace := range set.Split() {
				if len(trace.TraceID) != 32 || strings.Trim(trace.TraceID, "0123456789abcdef") != "" {
					t.Errorf("%s: trace id %q", name, trace.TraceID)
				}
			}
			reconstruct.All(set.Split(), options)
			for _, err := range refused {
				if strings.Contains(err.Error(), "passwd") {
					t.Errorf("%s: an error with content: %v", name, err)
				}
			}
		}
	}
}

// TestTwoRowsWithOneIDAreTwoItems, as two spans of OTLP with one id are: neither is dropped.
func TestTwoRowsWithOneIDAreTwoItems(t *testing.T) {
	for name, row := range map[string]string{
		"jaeger":    `{"traceID":"4bf92f3577b34da6a3ce929d0e0e4736","spans":[{"traceID":"4bf92f3577b34da6a3ce929d0e0e4736","spanID":"00f067aa0ba902b7","operationName":"NAME","tags":[{"key":"openinference.span.kind","type":"string","value":"LLM"}]}]}`,
		"phoenix":   `{"name":"NAME","context":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7"},"span_kind":"LLM","attributes":{}}`,
		"langfuse":  `{"id":"a","traceId":"t","type":"SPAN","name":"NAME","parentObservationId":null}`,
		"langsmith": `{"id":"a","trace_id":"t","run_type":"llm","name":"NAME"}`,
	} {
		set, refused := readAll(t, []byte(strings.Replace(row, "NAME", "x", 1)+"\n"+strings.Replace(row, "NAME", "y", 1)), otlpfile.Options{})
		if set.Len() != 2 || len(refused) > 0 || len(set.Split()) != 1 {
			t.Error(name, set.Len(), refused)
		}
	}
}

// TestBoundsHoldForExports: a document above its bound is one error, and the total is bounded.
func TestBoundsHoldForExports(t *testing.T) {
	row := `{"id":"a","trace_id":"t","run_type":"llm","name":"` + strings.Repeat("x", 1<<16) + `"}` + "\n"
	set, refused := readAll(t, []byte(`{"id":"b","trace_id":"t","run_type":"llm"}`+"\n"+row+`{"id":"c","trace_id":"t","run_type":"llm"}`), otlpfile.Options{MaxDocument: 1 << 15})
	if set.Len() != 2 || len(refused) != 1 || !errors.Is(refused[0], otlpfile.ErrTooLarge) {
		t.Error(set.Len(), refused)
	}
	if _, refused = readAll(t, []byte(strings.Repeat(row, 40)), otlpfile.Options{MaxTotal: 1 << 20}); len(refused) != 1 || !errors.Is(refused[0], otlpfile.ErrTooLarge) {
		t.Error(refused)
	}
}

// TestNoPlantedSecretOfAnExportIsStored: exports hold what was said and returned, in attributes of their own
// making.
func TestNoPlantedSecretOfAnExportIsStored(t *testing.T) {
	key, err := redact.NewKey([]byte("a key for tests, 0123456789abcdef"), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Default().WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"ghp_FAKEfake", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", "jane.fake@example.com", "4111 1111 1111 1111", "sk-proj-FAKE", "hunter2-FAKE-password"}
	recordings := exports(t, "secrets")
	if len(recordings) < 6 {
		t.Error("only", len(recordings), "recordings")
	}
	for path, text := range recordings {
		set, seen := evidence.NewSet(), 0
		for doc, err := range foreign.Read(bytes.NewReader(text), "in", otlpfile.Options{}) {
			if err != nil {
				t.Fatal(path, err)
			}
			r.Traces(doc.Traces, nil)
			set.AddTraces(doc.Traces)
		}
		stored := string(canonical(t, set))
		for _, made := range reconstruct.All(set.Split(), options) {
			stored += string(made.AppendJSON(nil))
		}
		for _, s := range secrets {
			if strings.Contains(stored, s) {
				t.Errorf("%s: %s is stored", path, s)
			}
			if bytes.Contains(text, []byte(s)) {
				seen++
			}
		}
		if seen < len(secrets) {
			t.Errorf("%s holds %d of %d secrets: the test proves little", path, seen, len(secrets))
		}
	}
}

// fuzzed reads inputs as one format: no input crashes, and what is read is read alike again.
func fuzzed(f *testing.F, name string, more ...string) {
	at := slices.IndexFunc(foreign.Formats, func(format imports.Format) bool { return format.Name == name })
	for path, text := range exports(f, "") {
		if strings.Contains(path, "/"+name) && len(text) < 16<<10 {
			f.Add(text)
		}
	}
	for _, text := range more {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func() []byte {
			opts := otlpfile.Options{MaxTotal: 1 << 20, MaxDocument: 1 << 18}
			set := evidence.NewSet()
			for doc, err := range foreign.Formats[at].Read(imports.Input{Name: "in", Reader: bufio.NewReader(bytes.NewReader(text)), Options: opts}) {
				if err != nil {
					_ = err.Error()
					continue
				}
				set.AddTraces(doc.Traces)
			}
			return canonical(t, set)
		}
		if !bytes.Equal(read(), read()) {
			t.Error("another reading gives other evidence")
		}
	})
}

func FuzzJaeger(f *testing.F) {
	fuzzed(f, "jaeger", `{"data":[{"traceID":"a","spans":[{"traceID":"a","spanID":"b","operationName":"o","references":[{"refType":"FOLLOWS_FROM","traceID":"a","spanID":"c"}],"startTime":1,"duration":2,"tags":[{"key":"error","type":"bool","value":true},{"key":"otel.status_code","type":"string","value":"ERROR"},{"key":"b","type":"binary","value":"AAE="}],"logs":[{"timestamp":1,"fields":[{"key":"event","type":"string","value":"e"}]}],"process":{"serviceName":"s"}}]}]}`)
}

func FuzzTempo(f *testing.F) {
	fuzzed(f, "tempo", `{"trace":{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AAECAwQFBgcICQoLDA0ODw=="}]}]}]}}`, `{"batches":[{"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"n"},"spans":[]}]}]}`)
}

func FuzzPhoenix(f *testing.F) {
	fuzzed(f, "phoenix", `{"data":[{"trace_id":"35fb288eef396ca40ea383a8157c21e9","span_id":"fa65501088820eb4","start_time_unix_nano":1795195986684999936,"attributes":[]}]}`,
		`{"name":"a","context.trace_id":"t","context.span_id":"s","span_kind":"LLM","attributes.llm.input_messages":[{"message.role":"user"}],"attributes.metadata.a.b":1}`)
}

func FuzzLangfuse(f *testing.F) {
	fuzzed(f, "langfuse", `{"id":"a","traceId":"t","type":"GENERATION","parentObservationId":null,"usageDetails":{"input":1},"metadata":{"scope":{"name":"langfuse-sdk"},"a":1}}`,
		`{"id":"t","timestamp":"2026-01-01T00:00:00Z","userId":"u","input":1,"output":{},"observations":[{"id":"a","type":"SPAN"},{"id":"b","type":"TOOL"}]}`)
}

func FuzzLangSmith(f *testing.F) {
	fuzzed(f, "langsmith", `{"runs":[{"id":"a","trace_id":"t","run_type":"llm","tags":["x","y"],"error":"e","extra":{"metadata":{"a":1}},"child_runs":[{"id":"b","run_type":"tool"}]}]}`)
}
