// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

const github = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"

// twoSpans is a secret in one of two spans, in a value and across two events.
func twoSpans() ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	s := spans.AppendEmpty()
	s.SetName("dirty")
	s.Attributes().PutStr("content", "the key is "+github+" and more")
	s.Attributes().PutStr("note", "kept")
	s.Events().AppendEmpty().Attributes().PutStr("delta", "x "+github[:20])
	s.Events().AppendEmpty().Attributes().PutStr("delta", github[20:]+" y")
	spans.AppendEmpty().SetName("clean")
	return td
}

func TestPurgeKeepsWhatItCanAndSaysWhatIsGone(t *testing.T) {
	d, err := detect.New(detect.Options{Replace: func(string, string, bool) string { return token.Mask }})
	require.NoError(t, err)
	scan := func(td ptrace.Traces) []detect.Hit { return d.Scan(func(w *detect.Walk) { Traces(w, td) }) }
	spans := func(td ptrace.Traces) ptrace.SpanSlice {
		return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	}
	td := twoSpans()
	require.Empty(t, Purge(d, td), "replacing is enough")
	content, _ := spans(td).At(0).Attributes().Get("content")
	require.Equal(t, "the key is "+token.Mask+" and more", content.Str())
	require.Empty(t, scan(td))

	td = twoSpans()
	dropped := purge(d, td, dropValues)
	require.NotEmpty(t, dropped)
	require.Equal(t, `resourceSpans[0].scopeSpans[0].spans[0].attributes.content`, dropped[0].Path)
	require.Empty(t, scan(td))
	content, _ = spans(td).At(0).Attributes().Get("content")
	require.Equal(t, token.Mask, content.Str())
	note, _ := spans(td).At(0).Attributes().Get("note")
	require.Equal(t, "kept", note.Str())

	td = twoSpans()
	require.NotEmpty(t, purge(d, td, dropSpans))
	require.Equal(t, 1, spans(td).Len())
	require.Equal(t, "clean", spans(td).At(0).Name())
}
