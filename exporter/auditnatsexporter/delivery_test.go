// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

func TestRecordsWaitForTheirStream(t *testing.T) {
	b := newBroker(t, nil)
	r := newRig(t, b.url(), func(c *Config) { c.Timeout.Timeout = 5 * time.Second })
	done := make(chan error, 1)
	go func() { done <- r.ConsumeLogs(context.Background(), logs("", chain(20, "")...)) }()
	require.Eventually(t, func() bool { return r.counted("publish_errors", "cause", "no_stream") > 0 }, patience, 10*time.Millisecond)
	select {
	case err := <-done:
		t.Fatal("the call returned without a stream", err)
	default:
	}
	b.stream(nil)
	require.NoError(t, <-done)
	requireChain(t, b.messages("auditEvent"))
	require.Equal(t, 1, r.log.FilterMessageSnippet("no stream takes the subject").Len())
}

func TestOutageLosesNothing(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), func(c *Config) { c.Timeout.Timeout = 2 * time.Second })
	lines := chain(60, "")
	require.NoError(t, r.ConsumeLogs(t.Context(), logs("", lines[:20]...)))
	b.stop()
	done := make(chan error, 1)
	go func() { done <- r.ConsumeLogs(context.Background(), logs("", lines[20:40]...)) }()
	require.Eventually(t, func() bool { return r.counted("publish_errors", "cause", "failed") > 0 }, patience, 10*time.Millisecond)
	b.start()
	require.NoError(t, <-done)
	require.NoError(t, r.ConsumeLogs(t.Context(), logs("", lines[40:]...)))
	got := b.messages("auditEvent")
	require.Len(t, got, 60)
	requireChain(t, got)
}

func TestStartSurvivesThatNATSIsAway(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	b.stop()
	r := newRig(t, b.url(), func(c *Config) { c.Timeout.Timeout = 2 * time.Second })
	b.start()
	require.NoError(t, r.ConsumeLogs(t.Context(), logs("", "late")))
	require.Equal(t, []string{"late"}, b.messages("auditEvent"))
}

func TestRepetitionBringsOnlyWhatIsNotAcknowledged(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 7, jetstream.DiscardNew })
	r := newRig(t, b.url(), func(c *Config) { c.Retry.Enabled = false })
	lines := chain(10, "")
	err := r.ConsumeLogs(t.Context(), logs("", lines...))
	var rest consumererror.Logs
	require.ErrorAs(t, err, &rest)
	require.False(t, consumererror.IsPermanent(err))
	require.Equal(t, 3, rest.Data().LogRecordCount())
	b.stream(nil)
	require.NoError(t, r.ConsumeLogs(t.Context(), rest.Data()))
	require.Equal(t, lines, b.messages("auditEvent"))
}

// TestNothingOvertakesARecordThatIsRefused: the stream refuses the third record of a chain and would take the fourth.
func TestNothingOvertakesARecordThatIsRefused(t *testing.T) {
	b := newBroker(t, nil)
	full := func(c *jetstream.StreamConfig) {
		c.MaxMsgsPerSubject, c.DiscardNewPerSubject, c.Discard = 2, true, jetstream.DiscardNew
	}
	b.stream(full)
	r := newRig(t, b.url(), func(c *Config) {
		c.Retry.Enabled = false
		c.SubjectAttribute, c.AllowedSubjects = "audit.subject", []string{"audit.other"}
	})
	lines := chain(4, "")
	ld := logs("", lines...)
	last(ld).Attributes().PutStr("audit.subject", "audit.other") // a subject that is not full
	another := logs("", "of another process")
	another.ResourceLogs().At(0).Resource().Attributes().PutStr("service.name", "another")
	last(another).Attributes().PutStr("audit.subject", "audit.other")
	another.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())

	err := r.ConsumeLogs(t.Context(), ld)
	var rest consumererror.Logs
	require.ErrorAs(t, err, &rest)
	require.Equal(t, 2, rest.Data().LogRecordCount())
	require.Equal(t, lines[:2], b.messages("auditEvent"))
	require.Equal(t, []string{"of another process"}, b.messages("audit.other"))

	b.stream(nil)
	require.NoError(t, r.ConsumeLogs(t.Context(), rest.Data()))
	require.Equal(t, lines[:3], b.messages("auditEvent"))
	require.Equal(t, []string{"of another process", lines[3]}, b.messages("audit.other"))
}

// TestEqualRecordsSurviveARepetition: the second of three equal records is refused, and what is delivered again is still two more.
func TestEqualRecordsSurviveARepetition(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1, jetstream.DiscardNew })
	r := newRig(t, b.url(), func(c *Config) { c.Retry.Enabled = false })
	err := r.ConsumeLogs(t.Context(), logs("", "same", "same", "same"))
	require.Error(t, err)
	ld := logs("", "same", "same", "same")
	if rest := (consumererror.Logs{}); errors.As(err, &rest) {
		ld = rest.Data()
	}
	b.stream(nil)
	require.NoError(t, r.ConsumeLogs(t.Context(), ld))
	require.Len(t, b.messages("auditEvent"), 3)
}

func TestRecordThatNoServerTakesIsAPermanentErrorAndTheOthersArrive(t *testing.T) {
	b := newBroker(t, func(o *server.Options) { o.MaxPayload = 1000 })
	b.stream(nil)
	r := newRig(t, b.url(), nil)
	err := r.ConsumeLogs(t.Context(), logs("", "before", strings.Repeat("x", 2000), "after"))
	require.True(t, consumererror.IsPermanent(err), err)
	require.Equal(t, []string{"before", "after"}, b.messages("auditEvent"))
	require.EqualValues(t, 1, r.counted("publish_errors", "cause", "too_large"))

	b.stream(func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 })
	err = r.ConsumeLogs(t.Context(), logs("", strings.Repeat("y", 500)))
	require.True(t, consumererror.IsPermanent(err), err)
}

func TestCallsShareTheBoundAndNeverWaitForEachOtherForEver(t *testing.T) {
	b := newBroker(t, nil)
	b.stream(nil)
	r := newRig(t, b.url(), func(c *Config) { c.MaxOutstandingBytes = 1000 })
	const calls, records = 16, 40
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			var lines []string
			for j := range records {
				lines = append(lines, fmt.Sprintf("%d/%d %s", i, j, strings.Repeat("x", 10+(i*37+j*101)%1500)))
			}
			if err := r.ConsumeLogs(context.Background(), logs("", lines...)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, b.messages("auditEvent"), calls*records)
}

func TestLoginIsUsedAndItsSecretIsNowhere(t *testing.T) {
	b := newBroker(t, func(o *server.Options) { o.Username, o.Password = "tapedeck", "open-sesame" })
	js := b.jetstream(nats.UserInfo("tapedeck", "open-sesame"))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AUDIT", Subjects: []string{"auditEvent"}})
	require.NoError(t, err)
	login := func(password configopaque.String) func(*Config) {
		return func(c *Config) {
			c.Auth = AuthConfig{Username: "tapedeck", Password: password}
			c.Retry.Enabled = false
			c.Timeout.Timeout = 2 * time.Second
		}
	}
	require.NoError(t, newRig(t, b.url(), login("open-sesame")).ConsumeLogs(t.Context(), logs("", "x")))
	stranger := newRig(t, b.url(), login("guess-secret"))
	err = stranger.ConsumeLogs(t.Context(), logs("", "y"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "guess-secret")
	for _, entry := range stranger.log.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "guess-secret")
	}
}
