// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// read returns what came: "traces 3", "logs 3", or the text of an error.
func read(data []byte, opts Options) []string {
	var got []string
	for d, err := range Read(bytes.NewReader(data), "in", opts) {
		got = append(got, describe(d, err))
	}
	return got
}

func describe(d Document, err error) string {
	if err != nil {
		return err.Error()
	}
	switch d.Signal {
	case SignalTraces:
		return "traces " + itoa(d.Traces.SpanCount())
	case SignalLogs:
		return "logs " + itoa(d.Logs.LogRecordCount())
	}
	return string(d.Signal)
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	return e.EncodeAll(data, nil)
}

func compact(t testing.TB, data []byte) []byte {
	t.Helper()
	docs, err := decodeJSON(data)
	if err != nil || len(docs) != 1 {
		t.Fatal(len(docs), err)
	}
	var out []byte
	if docs[0].Signal == SignalTraces {
		out, err = (&ptrace.JSONMarshaler{}).MarshalTraces(docs[0].Traces)
	} else {
		out, err = (&plog.JSONMarshaler{}).MarshalLogs(docs[0].Logs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func protobuf(t testing.TB, data []byte) []byte {
	t.Helper()
	docs, err := decodeJSON(data)
	if err != nil || len(docs) != 1 {
		t.Fatal(len(docs), err)
	}
	var out []byte
	if docs[0].Signal == SignalTraces {
		out, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(docs[0].Traces)
	} else {
		out, err = (&plog.ProtoMarshaler{}).MarshalLogs(docs[0].Logs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func frames(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestEveryFormIsReadByItsContent(t *testing.T) {
	forge, spans, logs := fixture(t, "forge_happy.otlp.json"), fixture(t, "openai_plain_answer.otlp.json"), fixture(t, "openai_plain_answer.logs.json")
	nl := []byte("\n")
	lines := joined(compact(t, forge), nl, compact(t, logs), nl, nl, compact(t, spans), nl)
	forms := map[string][]byte{
		"JSON lines":                  lines,
		"JSON lines without last end": bytes.TrimRight(lines, "\n"),
		"JSON lines with CRLF":        bytes.ReplaceAll(lines, nl, []byte("\r\n")),
		"byte order mark":             joined(bom, lines),
		"leading white space":         joined([]byte("\n\n \t"), lines),
		"indented documents":          joined(forge, logs, spans),
		"array of documents":          joined([]byte("[\n"), forge, []byte(","), logs, []byte(","), spans, []byte("]")),
		"frames of protobuf":          frames(protobuf(t, forge), protobuf(t, logs), protobuf(t, spans)),
		"frames of zstd protobuf":     frames(zstded(t, protobuf(t, forge)), zstded(t, protobuf(t, logs)), zstded(t, protobuf(t, spans))),
		"frames of zstd JSON":         frames(zstded(t, forge), zstded(t, logs), zstded(t, spans)),
	}
	want := []string{"traces 13", "logs 3", "traces 2"}
	for name, data := range forms {
		for packing, pack := range map[string]func(testing.TB, []byte) []byte{
			"plain": func(_ testing.TB, b []byte) []byte { return b }, "gzip": gzipped, "zstd": zstded,
			"gzip members": func(t testing.TB, b []byte) []byte {
				return joined(gzipped(t, b[:len(b)/2]), gzipped(t, b[len(b)/2:]))
			},
		} {
			t.Run(name+" "+packing, func(t *testing.T) {
				if diff := cmp.Diff(want, read(pack(t, data), Options{})); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestBareProtobufIsToldBySignal(t *testing.T) {
	metrics := pmetric.NewMetrics()
	m := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("sixteen letters.")
	m.SetUnit("ms")
	m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	metricBytes, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(metrics)
	if err != nil {
		t.Fatal(err)
	}
	bare := plog.NewLogs()
	bare.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("only a body")
	bareBytes, err := (&plog.ProtoMarshaler{}).MarshalLogs(bare)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"traces":            {protobuf(t, fixture(t, "forge_happy.otlp.json")), "traces 13"},
		"logs":              {protobuf(t, fixture(t, "openai_plain_answer.logs.json")), "logs 3"},
		"log with body":     {bareBytes, "logs 1"},
		"metrics":           {metricBytes, "other"},
		"request of 123 B":  {sized(t, 123), "traces 1"},
		"request of 91 B":   {sized(t, 91), "traces 1"},
		"request of 8315 B": {sized(t, 8315), "traces 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{c.want}, read(c.data, Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sized returns a request whose ResourceSpans has n bytes: a length that reads as the character of that code.
func sized(t *testing.T, n int) []byte {
	t.Helper()
	for pad := range n {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{1})
		s.SetName(strings.Repeat("x", pad))
		data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		if size, used := binary.Uvarint(data[1:]); int(size) == n && used > 0 {
			return data
		}
	}
	t.Fatalf("no request of %d bytes", n)
	return nil
}

func TestDamagedInputIsRefusedWithItsPlace(t *testing.T) {
	good := compact(t, fixture(t, "openai_plain_answer.otlp.json"))
	nl := []byte("\n")
	proto := protobuf(t, fixture(t, "forge_happy.otlp.json"))
	for name, c := range map[string]struct {
		data []byte
		want []string
	}{
		"empty":              {nil, []string{"in: empty input"}},
		"white space":        {[]byte("\n \n"), []string{"in: empty input"}},
		"empty gzip":         {gzipped(t, nil), []string{"in: empty input"}},
		"binary":             {[]byte("\x80\x81\x82\x83\x84"), []string{"in: not OTLP telemetry: neither JSON nor protobuf"}},
		"UTF-16":             {[]byte("\xff\xfe{\x00"), []string{"in: not OTLP telemetry: text in UTF-16; convert it to UTF-8"}},
		"zip":                {[]byte("PK\x03\x04rest"), []string{"in: not OTLP telemetry: a zip archive; unpack it"}},
		"foreign JSON":       {[]byte(`{"a":1}`), []string{"in:1: not OTLP telemetry: neither resourceSpans nor resourceLogs"}},
		"text":               {[]byte("hello\n"), []string{"in:1: not OTLP telemetry: the line does not start a JSON object"}},
		"line cut in text":   {joined(good[:200], nl, good, nl), []string{"in:1: truncated: the line ends within a string", "traces 2"}},
		"line cut elsewhere": {joined([]byte(`{"resourceSpans":[`), nl, good, nl), []string{"in:1: truncated: the document is not closed where the next one starts", "traces 2"}},
		"last line cut":      {joined(good, nl, good[:200]), []string{"traces 2", "in:2: truncated: the document is not closed at the end of the input"}},
		"bad line between":   {joined(good, nl, []byte(`{"resourceSpans":[}`), nl, good, nl), []string{"traces 2", "in:2: truncated: the document is not closed where the next one starts", "traces 2"}},
		"bad JSON between":   {joined(good, nl, []byte(`{"resourceSpans":[,]}`), nl, good, nl), []string{"traces 2", "in:2: resourceSpans[0]: malformed JSON: a value expected at byte 18 of the document", "traces 2"}},
		"log line between":   {joined(good, nl, []byte("2026-11-20 rotated"), nl, good, nl), []string{"traces 2", "in:2: not OTLP telemetry: the line does not start a JSON object", "traces 2"}},
		"trailing text":      {joined(good, []byte("x")), []string{"traces 2", "in:1: not OTLP telemetry: the line does not start a JSON object"}},
		"truncated gzip":     {gzipped(t, good)[:100], []string{"in:1: truncated: the compressed data ends early"}},
		"truncated zstd":     {zstded(t, good)[:100], []string{"in: truncated: the compressed data ends early"}},
		"gzip magic only":    {[]byte("\x1f\x8b"), []string{"in: gzip: truncated: the compressed data ends early"}},
		"truncated protobuf": {proto[:len(proto)-1], []string{"in: malformed protobuf: a length beyond the end at byte 1 of the document"}},
		"truncated frames":   {frames(proto, proto)[:len(proto)+100], []string{"traces 13", "in: byte " + itoa(len(proto)+4) + ": truncated: the last message is incomplete"}},
		"bad frame between":  {frames(proto, []byte("\x0a\x02\x0a\x05"), proto), []string{"traces 13", "in: byte " + itoa(len(proto)+4) + ": malformed protobuf: a length beyond the end at byte 3 of the document", "traces 13"}},
		"indented, bad id": {[]byte("{\n\"resourceSpans\": [{\n\"scopeSpans\": [{\"spans\": [{}, {\n\"traceId\": \"secret\"}]}]}]}"),
			[]string{"in:4: resourceSpans[0].scopeSpans[0].spans[1].traceId: malformed: an id that is neither 32 hex digits nor base64 of 16 bytes (6 characters)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(c.data, Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForeignTextIsGivenUpAfterHundredLines(t *testing.T) {
	got := read([]byte(strings.Repeat("hello\n", 5000)), Options{})
	if len(got) != maxRefusedInARow+1 {
		t.Errorf("%d reports", len(got))
	}
}

func TestLimitsHold(t *testing.T) {
	good := compact(t, fixture(t, "openai_plain_answer.otlp.json"))
	nl := []byte("\n")
	long := []byte(`{"resourceSpans":[],"pad":"` + strings.Repeat("x", 100<<10) + `"}`)
	small := Options{MaxDocument: 64 << 10}
	for name, c := range map[string]struct {
		data []byte
		opts Options
		want []string
	}{
		"long line is passed over":    {joined(good, nl, long, nl, good), small, []string{"traces 2", "in:2: too large: a document of more than 65536 bytes", "traces 2"}},
		"long frame ends the reading": {frames(good, long), small, []string{"traces 2", "in: byte " + itoa(len(good)+4) + ": too large: a message of 102429 bytes is announced"}},
		"packed frame":                {frames(good, zstded(t, long), good), small, []string{"traces 2", "in: byte " + itoa(len(good)+4) + ": too large: a document of more than 65536 bytes", "traces 2"}},
		"bomb in gzip":                {gzipped(t, long), Options{MaxTotal: 64 << 10}, []string{"in:1: too large: the input holds more bytes than the limit for one input"}},
		"bomb in zstd":                {zstded(t, long), Options{MaxTotal: 64 << 10}, []string{"in: too large: the input holds more bytes than the limit for one input"}},
		"bomb of frames":              {frames(zstded(t, long), zstded(t, long)), Options{MaxTotal: 128 << 10}, []string{"traces 0", "in: byte 60: too large: the input holds more bytes than the limit for one input"}},
		"long protobuf":               {sized(t, 8315), Options{MaxDocument: 1000}, []string{"in: too large: a document of more than 1000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.data, c.opts)
			if name == "bomb of frames" && len(got) == 2 { // the offset depends on the encoder
				got[1] = "in: byte 60" + got[1][strings.LastIndex(got[1], ": too large"):]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeepNestingIsAnErrorNotACrash(t *testing.T) {
	json := `{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":` +
		strings.Repeat(`{"arrayValue":{"values":[`, 1<<20) + strings.Repeat(`]}}`, 1<<20) + `}]}}]}`
	unknown := `{"resourceSpans":[],"x":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`
	var proto []byte
	for range 3000 { // AnyValue{array_value: ArrayValue{values: …}}
		proto = lengthField(1, proto)
		proto = lengthField(5, proto)
	}
	proto = lengthField(1, lengthField(1, lengthField(1, lengthField(2, proto))))
	for name, data := range map[string][]byte{"JSON": []byte(json), "unknown member": []byte(unknown), "protobuf": proto} {
		t.Run(name, func(t *testing.T) {
			for _, err := range Read(bytes.NewReader(data), "in", Options{}) {
				if !errors.Is(err, ErrTooLarge) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func lengthField(number int, content []byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(number<<3 | wireLen)}, uint64(len(content))), content...)
}

func TestReadFileNamesWhatItCannotOpen(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                          dir + ": is a directory; name the files in it",
		filepath.Join(dir, "nofile"): filepath.Join(dir, "nofile") + ": no such file or directory",
	} {
		for d, err := range ReadFile(path, nil, Options{}) {
			if got := describe(d, err); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	stdin := bytes.NewReader(fixture(t, "forge_happy.otlp.json"))
	for d, err := range ReadFile("-", stdin, Options{}) {
		if got := describe(d, err); got != "traces 13" {
			t.Error(got)
		}
	}
}

func TestReadingStopsWhenTheConsumerHasEnough(t *testing.T) {
	good := compact(t, fixture(t, "openai_plain_answer.otlp.json"))
	n := 0
	for range Read(io.MultiReader(bytes.NewReader(good), bytes.NewReader(good)), "in", Options{}) {
		n++
		break
	}
	if n != 1 {
		t.Error(n)
	}
}
