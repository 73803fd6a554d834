// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package independent

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// text is an object as a scanner reads it: one decoded string after the other, and for every line where it stands.
type text struct {
	url   string
	lines bytes.Buffer
	paths []string // by line
	names map[string]int
}

// maxDepth is how deep JSON in strings of JSON is unfolded. Below it the text is written as it is.
const maxDepth = 8

// aName is the path of a line that holds nothing but the name of a member.
const aName = "(a name)"

// textOf unfolds an object of a deck. A part that cannot be read is an error; everything else that is no JSON is text.
func textOf(url, key string, body []byte) (*text, error) {
	t := &text{url: url, names: map[string]int{}}
	if strings.HasSuffix(key, deck.PartSuffix) || deck.IsPacked(body) {
		canonical, err := deck.Unpack(body)
		if err != nil {
			return nil, err
		}
		td, err := nesting.UnmarshalTraces(canonical)
		if err != nil {
			return nil, err
		}
		if body, err = (&ptrace.JSONMarshaler{}).MarshalTraces(td); err != nil {
			return nil, err
		}
	}
	t.write("", "object", "text") // no scanner takes the file for a picture or an archive
	whole := true
	for dec := json.NewDecoder(bytes.NewReader(body)); dec.More(); {
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			whole = false
			break
		}
		t.value("$", "", v, 0)
	}
	if !whole {
		for i, line := range strings.Split(string(body), "\n") {
			t.write("", "line "+strconv.Itoa(i+1), line)
		}
	}
	// Names by themselves, so that one that is a secret is told apart from a secret that stands under a name.
	for _, name := range slices.Sorted(maps.Keys(t.names)) {
		t.names[name] = len(t.paths)
		t.write("", aName, name)
	}
	return t, nil
}

// value writes the strings of a JSON value.
func (t *text) value(path, name string, v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		if key, ok := v["key"].(string); ok && len(v) == 2 { // an attribute of OTLP
			if of, ok := v["value"].(map[string]any); ok && len(of) == 1 {
				t.named(path, key, slices.Collect(maps.Values(of))[0], depth)
				return
			}
		}
		for _, member := range slices.Sorted(maps.Keys(v)) {
			t.named(path, member, v[member], depth)
		}
	case []any:
		words := make([]string, 0, len(v))
		for i, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, s)
			}
			t.value(path+"["+strconv.Itoa(i)+"]", name, e, depth)
		}
		if len(words) > 1 { // the words of a command, the pieces of a stream
			t.write(name, path, strings.Join(words, " "))
			t.write(name, path, strings.Join(words, ""))
		}
	case string:
		t.write(name, path, v)
		var inner any
		if trimmed := strings.TrimSpace(v); depth < maxDepth && trimmed != "" && strings.IndexByte(`{["`, trimmed[0]) >= 0 {
			dec := json.NewDecoder(strings.NewReader(trimmed))
			dec.UseNumber()
			if dec.Decode(&inner) == nil {
				t.value(path, name, inner, depth+1)
			}
		}
	case json.Number:
		t.write(name, path, v.String())
	}
}

func (t *text) named(path, name string, v any, depth int) {
	t.names[name] = 0
	t.value(path+"["+strconv.Quote(name)+"]", name, v, depth)
}

// ours are digests and markers as decks hold them everywhere, which say what they are. Scanners take them for keys beside names such as match_key.
var ours = regexp.MustCompile(`\bsha256(?::|%3A)[0-9a-f]{64}(?:;key=[0-9a-z]{16})?\b`)

// write writes a string under its name. It masks tokens of redaction and leaves out digests of the format, because both look random. It takes apart
// what tells a scanner to look away: the sender of a text must not decide about that.
func (t *text) write(name, path, s string) {
	if name != "" {
		s = name + ": " + s
	}
	var b strings.Builder
	from := 0
	for _, at := range token.Find(s) {
		b.WriteString(s[from:at[0]])
		b.WriteString("REDACTED")
		from = at[1]
	}
	b.WriteString(s[from:])
	s = ours.ReplaceAllString(b.String(), "sha256")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", " ", "gitleaks:allow", "gitleaks: allow", "trufflehog:ignore", "trufflehog: ignore").Replace(s)
	for line := range strings.SplitSeq(s, "\n") {
		t.lines.WriteString(line)
		t.lines.WriteByte('\n')
		t.paths = append(t.paths, path)
	}
}

// hiddenPath stands for a path with a name in which the scanner finds something.
const hiddenPath = "(the path holds such a value)"

// places returns the paths of lines (counted from 1), without names in which something was found.
func (t *text) places(lines []int) []string {
	var secret []string
	for name, line := range t.names {
		if slices.Contains(lines, line+1) {
			secret = append(secret, "["+strconv.Quote(name)+"]")
		}
	}
	places := make([]string, len(lines))
	for i, line := range lines {
		if line < 1 || line > len(t.paths) {
			places[i] = "(a place that the scanner does not tell)"
			continue
		}
		places[i] = t.paths[line-1]
		if slices.ContainsFunc(secret, func(name string) bool { return strings.Contains(places[i], name) }) {
			places[i] = hiddenPath
		}
	}
	return places
}
