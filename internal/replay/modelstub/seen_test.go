// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestTwoHundredReplaysShareNothing asks both turns in 200 sessions at once. The bodies are the same, so reading and comparing them is shared;
// what was served is not: each session gets both answers as the first one did, and has a third request refused.
func TestTwoHundredReplaysShareNothing(t *testing.T) {
	const sessions = 200
	for _, r := range requests {
		h := NewHandler(Config{Stub: New(conversationTape(t), Options{})})
		listening := httptest.NewServer(h)
		defer listening.Close()
		var running sync.WaitGroup
		var mu sync.Mutex
		said := map[string]int{}
		for i := range sessions {
			running.Go(func() {
				for _, body := range []any{r.first, r.second, r.second} {
					resp, text := post(t, listening.URL+r.path, body, SessionHeader, itoa(i))
					mu.Lock()
					said[resp.Status+" "+resp.Header.Get(headerMadeUp)+" "+resp.Header.Get(headerLabels)+" "+text]++
					mu.Unlock()
				}
			})
		}
		running.Wait()
		if len(said) != 3 {
			t.Errorf("%s: %d different answers", r.protocol, len(said))
		}
		for text, n := range said {
			if n != sessions {
				t.Errorf("%s: %d times %s", r.protocol, n, text)
			}
		}
		reports := h.Reports()
		if len(reports) != sessions {
			t.Fatalf("%s: %d sessions", r.protocol, len(reports))
		}
		for _, report := range reports {
			if len(report.Calls) != 3 || len(report.Unused) != 0 || report.Calls[0].Seq >= report.Calls[1].Seq || report.Calls[2].Outcome != Exhausted || report.Missed != 1 {
				t.Errorf("%s: session %s: %+v", r.protocol, report.Session, report)
			}
		}
	}
}

// A stream of Gemini is framed as its query says, whatever was asked before with the same body.
func TestTheSameBodyIsFramedAsItIsAskedFor(t *testing.T) {
	s := server(t, conversationTape(t), Options{}, Config{})
	gemini := requests[3]
	path := strings.Replace(gemini.path, ":generateContent", ":streamGenerateContent", 1)
	for i, c := range []struct{ path, begins string }{{path, "["}, {path + "?alt=sse", "data: "}, {gemini.path, "{"}, {path, "["}} {
		if _, text := post(t, s.URL+c.path, gemini.first, SessionHeader, itoa(i)); !strings.HasPrefix(text, c.begins) {
			t.Errorf("%s: %.80s", c.path, text)
		}
	}
}

// Answers are rendered once for all requests of a form. What differs in form, or in the name of a model that the tape does not hold, gets its own.
func TestAnAnswerIsSharedByItsFormAlone(t *testing.T) {
	s := server(t, conversationTape(t), Options{}, Config{})
	chat := requests[0]
	asked := func(session string, with map[string]any) string {
		body := maps.Clone(chat.first)
		maps.Copy(body, with)
		_, text := post(t, s.URL+chat.path, body, SessionHeader, session)
		return text
	}
	usage := map[string]any{"stream": true, "stream_options": map[string]any{"include_usage": true}}
	for i, c := range []struct {
		with   map[string]any
		has    string
		hasNot string
	}{
		{map[string]any{"model": "one"}, `"model":"one"`, "data: "},
		{map[string]any{"model": "two"}, `"model":"two"`, "data: "},
		{map[string]any{"model": "one", "stream": true}, "data: ", `"usage"`},
		{usage, `"usage"`, `"model":"one"`},
		{map[string]any{"model": "one", "user": "another"}, `"model":"one"`, "data: "},
	} {
		for again := range 2 {
			if text := asked(itoa(2*i+again), c.with); !strings.Contains(text, c.has) || strings.Contains(text, c.hasNot) {
				t.Errorf("%v: %s", c.with, text)
			}
		}
	}
}

func TestRenderedAnswersAreBounded(t *testing.T) {
	var f forms
	long := form{model: strings.Repeat("m", maxFormModel+1)}
	f.put(long, written{})
	if _, ok := f.get(long); ok {
		t.Error("an answer for a name of any length is kept")
	}
	for i := range 2 * maxForms {
		f.put(form{model: itoa(i)}, written{contentType: itoa(i)})
	}
	if w, ok := f.get(form{model: "0"}); len(f.all) > maxForms || !ok || w.contentType != "0" {
		t.Errorf("%d forms, %v", len(f.all), w)
	}
}

func TestWhatAStubRemembersIsBounded(t *testing.T) {
	var m memory
	key := func(i int) seenKey { return keyOf(openAIChat, "", false, false, []byte(itoa(i))) }
	for i := range 3 * maxSeen {
		m.put(key(i), &sight{}, 1)
		if len(m.known) > maxSeen || m.get(key(i)) == nil {
			t.Fatalf("after %d: %d", i, len(m.known))
		}
	}
	for i := range 10 {
		m.put(key(i), &sight{}, maxSeenBytes/3)
		if m.bytes > maxSeenBytes {
			t.Fatalf("%d bytes", m.bytes)
		}
	}
	m.put(key(1), &sight{}, maxSeenBytes+1)
	if m.bytes > maxSeenBytes || m.get(key(1)) != nil {
		t.Error("a request beyond the bound is kept")
	}
}
