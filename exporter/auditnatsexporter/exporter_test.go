// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tapedeck/tapedeck/exporter/auditnatsexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/interop/auditrelay"
)

// patience bounds what is waited for. Nothing here fails because a machine is slow.
const patience = time.Minute

// broker is a real NATS server with JetStream in this process.
type broker struct {
	t       *testing.T
	options server.Options
	server  *server.Server
}

func newBroker(t *testing.T, edit func(*server.Options)) *broker {
	t.Helper()
	b := &broker{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	if edit != nil {
		edit(&b.options)
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	options := b.options
	s, err := server.NewServer(&options)
	require.NoError(b.t, err)
	s.Start()
	require.True(b.t, s.ReadyForConnections(patience))
	b.server = s
	b.options.Port = s.Addr().(*net.TCPAddr).Port // the same after a restart
}

func (b *broker) stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

func (b *broker) url() string { return "nats://127.0.0.1:" + strconv.Itoa(b.options.Port) }

func (b *broker) jetstream(options ...nats.Option) jetstream.JetStream {
	b.t.Helper()
	conn, err := nats.Connect(b.url(), options...)
	require.NoError(b.t, err)
	b.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(b.t, err)
	return js
}

// stream makes a stream of both subjects.
func (b *broker) stream(edit func(*jetstream.StreamConfig)) {
	b.t.Helper()
	cfg := jetstream.StreamConfig{Name: "AUDIT", Subjects: []string{"auditEvent", "replayEvent", "audit.>"}}
	if edit != nil {
		edit(&cfg)
	}
	_, err := b.jetstream().CreateOrUpdateStream(b.t.Context(), cfg)
	require.NoError(b.t, err)
}

// messages are the bodies that lie under a subject, in order.
func (b *broker) messages(subject string) (bodies []string) {
	b.t.Helper()
	s, err := b.jetstream().Stream(b.t.Context(), "AUDIT")
	require.NoError(b.t, err)
	info, err := s.Info(b.t.Context(), jetstream.WithSubjectFilter(subject))
	require.NoError(b.t, err)
	c, err := s.OrderedConsumer(b.t.Context(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	require.NoError(b.t, err)
	for range info.State.Subjects[subject] {
		m, err := c.Next(jetstream.FetchMaxWait(patience))
		require.NoError(b.t, err)
		bodies = append(bodies, string(m.Data()))
	}
	return bodies
}

type rig struct {
	exporter.Logs
	telemetry *componenttest.Telemetry
	log       *observer.ObservedLogs
}

func newRig(t *testing.T, url string, edit func(*Config)) *rig {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Servers = []string{url}
	cfg.Timeout.Timeout = patience
	cfg.Retry.InitialInterval, cfg.Retry.MaxInterval = 10*time.Millisecond, 50*time.Millisecond
	if edit != nil {
		edit(cfg)
	}
	require.NoError(t, cfg.Validate())
	r := &rig{telemetry: componenttest.NewTelemetry()}
	set := exportertest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	core, log := observer.New(zap.DebugLevel)
	set.Logger, r.log = zap.New(core), log
	var err error
	r.Logs, err = NewFactory().CreateLogs(t.Context(), set, cfg)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		require.NoError(t, r.Shutdown(context.Background()))
		require.NoError(t, r.telemetry.Shutdown(context.Background()))
	})
	return r
}

func (r *rig) counted(name string, attributes ...string) (n int64) {
	m, err := r.telemetry.GetMetric("otelcol_exporter_audit_nats_" + name)
	if err != nil {
		return 0
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		matches := true
		for i := 0; i < len(attributes); i += 2 {
			v, _ := p.Attributes.Value(attribute.Key(attributes[i]))
			matches = matches && v.AsString() == attributes[i+1]
		}
		if matches {
			n += p.Value
		}
	}
	return n
}

// chain is the audit stream of one process: each line holds the hash of the bytes of the one before.
func chain(n int, fields string) (lines []string) {
	before := strings.Repeat("0", 64)
	for i := range n {
		// Spacing, escapes and key order are what a re-encoding would change.
		line := fmt.Sprintf(`{"ts":"2026-11-20T10:00:%02dZ", "event":"tool_exec","z":1.0,"a":"<\u00e4>","seq":%d%s,"prev_hash":"%s"}`, i%60, i+1, fields, before)
		sum := sha256.Sum256([]byte(line))
		before = hex.EncodeToString(sum[:])
		lines = append(lines, line)
	}
	return lines
}

func requireChain(t *testing.T, lines []string) {
	t.Helper()
	before := strings.Repeat("0", 64)
	for i, line := range lines {
		var event struct {
			PrevHash string `json:"prev_hash"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		require.Equal(t, before, event.PrevHash, "line %d", i+1)
		sum := sha256.Sum256([]byte(line))
		before = hex.EncodeToString(sum[:])
	}
}

func logs(tag string, lines ...string) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	if tag != "" {
		rl.Resource().Attributes().PutStr("replay_run_id", tag)
	}
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for _, line := range lines {
		records.AppendEmpty().Body().SetStr(line)
	}
	return ld
}

func TestChainArrivesByteForByteAndInOrderOnItsSide(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	production, replay := chain(700, ""), chain(300, `,"fields":{"x":null}`)
	ld := logs("", production...)
	logs("r-1", replay...).ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
	ld.MarkReadOnly()
	require.NoError(t, r.ConsumeLogs(t.Context(), ld))
	require.Equal(t, production, b.messages("auditEvent"))
	require.Equal(t, replay, b.messages("replayEvent"))
	requireChain(t, b.messages("auditEvent"))
	requireChain(t, b.messages("replayEvent"))
	require.EqualValues(t, 700, r.counted("published_records", "side", "production"))
	require.EqualValues(t, 300, r.counted("published_records", "side", "replay"))

	// The same call again, and by an exporter that knows nothing of the first.
	for _, again := range []*rig{r, newRig(t, b.url(), nil)} {
		require.NoError(t, again.ConsumeLogs(t.Context(), ld))
		require.EqualValues(t, 1000, again.counted("duplicate_records"))
	}
	require.Len(t, b.messages("auditEvent"), 700)
	require.Len(t, b.messages("replayEvent"), 300)
}

// TestSignaturesHoldAtTheReceivingEnd sends the signed audit streams of two real agents and verifies them as their keys say.
func TestSignaturesHoldAtTheReceivingEnd(t *testing.T) {
	var jwks struct {
		Keys []struct{ Kid, X string }
	}
	text, err := os.ReadFile("../../testdata/corpus/forge/audit.jwks.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &jwks))
	keys := map[string]ed25519.PublicKey{}
	for _, k := range jwks.Keys {
		keys[k.Kid], err = base64.RawURLEncoding.DecodeString(k.X)
		require.NoError(t, err)
	}
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	var subjects []string
	for i, agent := range []string{"price-helper", "stock-helper"} {
		text, err := os.ReadFile("../../testdata/corpus/forge/" + agent + ".audit.ndjson")
		require.NoError(t, err)
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		tag := []string{"", "r-1"}[i]
		subjects = append(subjects, []string{"auditEvent", "replayEvent"}[i])
		require.NoError(t, r.ConsumeLogs(t.Context(), logs(tag, lines...)))
		require.Equal(t, lines, b.messages(subjects[i]))
	}
	verified := 0
	for _, subject := range subjects {
		for _, line := range b.messages(subject) {
			var event map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(line), &event))
			if event["sig"] == nil {
				continue
			}
			var sig, kid string
			require.NoError(t, json.Unmarshal(event["sig"], &sig))
			require.NoError(t, json.Unmarshal(event["kid"], &kid))
			delete(event, "sig")
			signed, err := json.Marshal(event)
			require.NoError(t, err)
			signed, err = jcs.Transform(signed)
			require.NoError(t, err)
			signature, err := base64.StdEncoding.DecodeString(sig)
			require.NoError(t, err)
			require.True(t, ed25519.Verify(keys[kid], signed, signature), line)
			verified++
		}
		requireChain(t, b.messages(subject))
	}
	require.Greater(t, verified, 100)
}

// TestTheStreamOfAProcessReachesItsSubject takes what two real agents wrote from a pipe to the stream, as
// tapedeck audit does.
func TestTheStreamOfAProcessReachesItsSubject(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		request := plogotlp.NewExportRequest()
		if err = errors.Join(err, request.UnmarshalProto(body)); err == nil {
			err = r.ConsumeLogs(req.Context(), request.Logs())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	for agent, tag := range map[string]string{"stock-helper": "", "price-helper": "r-1"} {
		text, err := os.ReadFile("../../testdata/corpus/forge/" + agent + ".audit.ndjson")
		require.NoError(t, err)
		relay := auditrelay.New(auditrelay.Config{To: receiver.URL, ReplayRunID: tag, Drain: patience, Problem: func(err error) { t.Error(err) }})
		counts, err := relay.Run(t.Context(), relay.Pipe(strings.NewReader("a banner\n"+string(text)), io.Discard))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		require.Equal(t, auditrelay.Counts{Forwarded: len(lines), Other: 1}, counts)
		subject := map[string]string{"": "auditEvent", "r-1": "replayEvent"}[tag]
		require.Equal(t, lines, b.messages(subject))
		requireChain(t, b.messages(subject))
	}
}

func TestTagAnywhereTakesTheWholeProcessToTheReplays(t *testing.T) {
	for name, tagged := range map[string]func(plog.Logs){
		"resource": func(ld plog.Logs) { ld.ResourceLogs().At(0).Resource().Attributes().PutStr("replay_run_id", "r") },
		"scope": func(ld plog.Logs) {
			ld.ResourceLogs().At(0).ScopeLogs().At(0).Scope().Attributes().PutStr("replay_run_id", "r")
		},
		"record":             func(ld plog.Logs) { last(ld).Attributes().PutStr("replay_run_id", "r") },
		"empty":              func(ld plog.Logs) { last(ld).Attributes().PutStr("replay_run_id", "") },
		"text":               func(ld plog.Logs) { last(ld).Body().SetStr(`{"seq":3,"replay_run_id":"r"}`) },
		"number in text":     func(ld plog.Logs) { last(ld).Body().SetStr(`{"seq":3,"replay_run_id":7}`) },
		"escaped in text":    func(ld plog.Logs) { last(ld).Body().SetStr(`{"seq":3,"replay\u005frun_id":{}}`) },
		"bytes":              func(ld plog.Logs) { last(ld).Body().SetEmptyBytes().FromRaw([]byte(`{"replay_run_id":"r"}`)) },
		"structured body":    func(ld plog.Logs) { last(ld).Body().SetEmptyMap().PutStr("replay_run_id", "r") },
		"text before a stop": func(ld plog.Logs) { last(ld).Attributes().PutStr("log.record.original", `{"replay_run_id":"r"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			e := &auditExporter{cfg: createDefaultConfig().(*Config)}
			e.rules, _ = e.cfg.Tags.Rules()
			ld := logs("", chain(3, "")...)
			for _, m := range slices.Concat(e.messages(ld)...) {
				require.Equal(t, "auditEvent", m.subject)
			}
			tagged(ld)
			for _, m := range slices.Concat(e.messages(ld)...) {
				require.Equal(t, "replayEvent", m.subject)
			}
		})
	}
}

func last(ld plog.Logs) plog.LogRecord {
	records := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	return records.At(records.Len() - 1)
}

func TestAttributeChoosesAmongTheSubjectsOfProduction(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), func(c *Config) {
		c.SubjectAttribute, c.AllowedSubjects, c.Stream = "audit.subject", []string{"audit.security"}, "AUDIT"
	})
	ld := logs("", "security", "of a sender who wants more", "plain", "replay")
	at := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	at.At(0).Attributes().PutStr("audit.subject", "audit.security")
	at.At(1).Attributes().PutStr("audit.subject", "$SYS.REQ")
	replayed := logs("r", "replayed")
	replayed.ResourceLogs().At(0).Resource().Attributes().PutStr("audit.subject", "audit.security")
	require.NoError(t, r.ConsumeLogs(t.Context(), ld))
	require.NoError(t, r.ConsumeLogs(t.Context(), replayed))
	require.Equal(t, []string{"security"}, b.messages("audit.security"))
	require.Equal(t, []string{"of a sender who wants more", "plain", "replay"}, b.messages("auditEvent"))
	require.Equal(t, []string{"replayed"}, b.messages("replayEvent"))
}

func TestEqualRecordsOfOneCallAreNotOne(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	for range 2 {
		require.NoError(t, r.ConsumeLogs(t.Context(), logs("", "same", "same", "same")))
	}
	require.Len(t, b.messages("auditEvent"), 3)
}

func TestStructuredRecordIsPublishedAndCounted(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	ld := logs("", "x", "\x00\xff raw", "")
	last(ld).Body().SetEmptyMap().PutInt("a", 1)
	require.NoError(t, r.ConsumeLogs(t.Context(), ld))
	require.Equal(t, []string{"x", "\x00\xff raw", `{"a":1}`}, b.messages("auditEvent"))
	require.EqualValues(t, 1, r.counted("reencoded_records"))
}

// TestEntriesOfOneResourceAreOneChain: a sender may split what one process wrote.
func TestEntriesOfOneResourceAreOneChain(t *testing.T) {
	e := &auditExporter{cfg: createDefaultConfig().(*Config)}
	e.rules, _ = e.cfg.Tags.Rules()
	ld := plog.NewLogs()
	for _, line := range []string{"1", "other", "2"} {
		part := logs("", line)
		name := "agent"
		if line == "other" {
			name = "another"
		}
		part.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", name)
		part.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
	}
	last := ld.ResourceLogs().At(2).ScopeLogs().At(0).LogRecords().At(0)
	last.Attributes().PutStr("replay_run_id", "r")
	chains := e.messages(ld)
	require.Len(t, chains, 2)
	require.Equal(t, "1", string(chains[0][0].body))
	require.Equal(t, "2", string(chains[0][1].body))
	require.True(t, chains[0][0].replay, "the tag holds for the whole process")
	require.False(t, chains[1][0].replay)
}

func FuzzTextOfARecord(f *testing.F) {
	for _, s := range []string{`{"replay_run_id":"r"}`, `{"replay\u005frun_id":1}`, `{"replay_run_id"`, `[]`, `"replay_run_id"`, "", `{"a":{"replay_run_id":"r"}}`, `{"replay_run_id":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := &auditExporter{cfg: createDefaultConfig().(*Config)}
		e.rules, _ = e.cfg.Tags.Rules()
		all := slices.Concat(e.messages(logs("", text))...)
		if len(all) != 1 || string(all[0].body) != text {
			t.Fatalf("%q became %+v", text, all)
		}
		var members map[string]json.RawMessage
		tagged := false
		if json.Unmarshal([]byte(text), &members) == nil {
			_, tagged = members["replay_run_id"]
		}
		if all[0].replay != tagged {
			t.Fatalf("%q: replay %v, tagged %v", text, all[0].replay, tagged)
		}
	})
}
