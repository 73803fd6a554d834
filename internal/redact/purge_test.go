// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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
	r := testRedactor(t)
	spans := func(td ptrace.Traces) ptrace.SpanSlice {
		return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	}
	td := twoSpans()
	require.Empty(t, r.Purge(td), "replacing is enough")
	content, _ := spans(td).At(0).Attributes().Get("content")
	require.Equal(t, "the key is <github-token> and more", plain(content.Str()))
	require.Empty(t, r.ScanTraces(td))

	td = twoSpans()
	dropped := r.purge(td, r.dropValues)
	require.NotEmpty(t, dropped)
	require.Equal(t, `resourceSpans[0].scopeSpans[0].spans[0].attributes.content`, dropped[0].Path)
	require.Empty(t, r.ScanTraces(td))
	content, _ = spans(td).At(0).Attributes().Get("content")
	require.Equal(t, "<github-token>", plain(content.Str()))
	note, _ := spans(td).At(0).Attributes().Get("note")
	require.Equal(t, "kept", note.Str())

	td = twoSpans()
	require.NotEmpty(t, r.purge(td, r.dropSpans))
	require.Equal(t, 1, spans(td).Len())
	require.Equal(t, "clean", spans(td).At(0).Name())
}

// A key that holds a secret has one token, in the map and in lists of keys, and says which rule found it.
func TestNamesAreReplacedByTheRuleThatFindsThem(t *testing.T) {
	r := testRedactor(t)
	td := ptrace.NewTraces()
	a := td.ResourceSpans().AppendEmpty().Resource().Attributes()
	a.PutStr("app."+github, "x")
	r.Traces(td, nil)
	for name := range a.All() {
		require.Equal(t, "app.<github-token>", plain(name))
	}
}
