// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// maxUnwrap is how often a string that holds JSON that is a string that holds JSON is decoded.
const maxUnwrap = 3

// LooksJSON reports whether a text starts like a JSON object, array or string.
func LooksJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[' || text[0] == '"')
}

// ParseStructure decodes a text that is a JSON object or array, also one that was JSON-encoded several times.
func ParseStructure(text string) (exactjson.Value, bool) {
	for range maxUnwrap {
		if !LooksJSON(text) {
			return exactjson.Value{}, false
		}
		v, err := Parse(text)
		if err != nil {
			return exactjson.Value{}, false
		}
		switch v.Kind() {
		case exactjson.Object, exactjson.Array:
			return v, true
		case exactjson.String:
			text = v.Str()
		default:
			return exactjson.Value{}, false
		}
	}
	return exactjson.Value{}, false
}

// Structure returns an object or array. A string that holds one is decoded.
func Structure(v exactjson.Value) (exactjson.Value, bool) {
	switch v.Kind() {
	case exactjson.Object, exactjson.Array:
		return v, true
	case exactjson.String:
		return ParseStructure(v.Str())
	default:
		return exactjson.Value{}, false
	}
}

// Args decodes recorded tool arguments. A string is JSON, else a Python literal, else it stays text.
func Args(v exactjson.Value) Content {
	if v.Kind() != exactjson.String {
		c := Content{Value: v}
		c.LabelMasks()
		return c
	}
	text := v.Str()
	c := Content{Value: v, Text: text, Label: LabelOf(text)}
	if parsed, err := Parse(strings.TrimSpace(text)); err == nil {
		c.Value = parsed
		if masksIn(parsed) != "" {
			c.Label, c.Masked = tape.Lossy, true
		}
		if parsed.Kind() == exactjson.String {
			if inner, ok := ParseStructure(parsed.Str()); ok {
				c.Value = inner
			} else if inner, lossy, ok := Python(parsed.Str()); ok && !lossy && inner.Kind() == exactjson.Object {
				c.Value = inner // LangChain hands its tracers str(arguments), which some write as JSON
			}
		}
		return c
	}
	if c.Label != "" {
		return c
	}
	if parsed, lossy, ok := Python(text); ok {
		if lossy {
			c.Label = tape.Lossy
			return c
		}
		c.Value = parsed
	}
	return c
}

// Result reads a recorded tool result. A string stays a string, a structured attribute becomes JSON. encoded says that the dialect writes
// every result as JSON text: a string is then decoded exactly once.
func Result(v exactjson.Value, encoded bool) Content {
	if v.Kind() != exactjson.String {
		return Content{Value: v}
	}
	if IsObjectTag(v.Str()) || IsAddress(v) {
		return Content{}
	}
	c := Content{Value: v, Label: LabelOf(v.Str())}
	if encoded && c.Label == "" {
		if parsed, err := Parse(strings.TrimSpace(v.Str())); err == nil {
			c.Value, c.Text = parsed, v.Str()
		}
	}
	return c
}

// StructuredResult reads a tool result of a dialect that writes strings as they are and all other values as JSON text. An object or a
// list is decoded. Any other text stays text, because the two cannot be told apart.
func StructuredResult(v exactjson.Value) Content {
	c := Result(v, true)
	if c.Value.Kind() != exactjson.Object && c.Value.Kind() != exactjson.Array {
		c.Value, c.Text = v, ""
	}
	return c
}

// exactMasks are values that a producer writes in place of content.
var exactMasks = map[string]bool{
	"__REDACTED__": true, "<REDACTED>": true, "[REDACTED]": true, "readacted": true, "FILTERED": true,
	"[MaxDepth]": true, // what lies too deep for the producer
}

// cutMarkers are endings that a producer leaves where it cut a value; Forge's stands apart, see ForgeCut.
var cutMarkers = []*regexp.Regexp{
	regexp.MustCompile(`\.\.\.\[TRUNCATED: original length \d+\]$`),      // Gemini CLI
	regexp.MustCompile(`\[\.\.\. telemetry preview truncated \.\.\.\]$`), // Codex
	// Those that tell how much there was, or is missing.
	regexp.MustCompile(`(?i)(?:\.\.\.|…)\s?[\[<(]truncated\b[^\])>]{0,20}\boriginal\b[^\])>]{0,12}\d[\d,]*(?: ?(?:bytes|chars|characters|KB))?[\])>]$`),
	regexp.MustCompile(`(?i)(?:\.\.\.|…)\s?[\[<(](?:\+|truncated:? )?\d[\d,]* (?:more )?(?:bytes|chars|characters)(?: (?:truncated|omitted|removed|more))?[\])>]$`),
	regexp.MustCompile(`(?i)<\d[\d,]* (?:bytes|chars|characters) (?:truncated|omitted)>$`),
}

// cutInJSON is any ending that says of JSON which ends in the middle that somebody cut it.
var cutInJSON = regexp.MustCompile(`(?i)(?:(?:\.\.\.|…)?\s?[\[<(](?:truncated|(?:output|content|result) truncated)[^\])>]{0,60}[\])>]|\.\.\.|…)$`)

// cutInside reports JSON that ends in the middle, at a marker. No tool returns that whole.
func cutInside(text string) bool {
	from := max(0, len(text)-80)
	at := cutInJSON.FindStringIndex(text[from:])
	return at != nil && LooksJSON(text) && EndsInside(text[:from+at[0]])
}

// ForgeMarker matches the ending that Forge appends to a value that it cut. The submatch is the length of the whole value in bytes.
var ForgeMarker = regexp.MustCompile(`…\[truncated:(\d+)\]$`)

// LabelOf returns masked for a text that a producer replaced as a whole, truncated for one that it cut, and "" for any other.
func LabelOf(text string) tape.Label {
	if len(text) <= 16 && exactMasks[text] || strings.HasPrefix(text, scrubbed) && scrubbedForm.FindString(text) == text || isSanitized(text) {
		return tape.Masked
	}
	if tail := text[max(0, len(text)-80):]; len(text) > 20 && mayEndInMarker(tail) {
		for _, marker := range cutMarkers {
			if marker.MatchString(tail) {
				return tape.Truncated
			}
		}
		if _, _, cut := ForgeCut(text); cut || cutToRound(text) || cutInside(text) {
			return tape.Truncated
		}
	}
	return ""
}

// mayEndInMarker tells most ends of texts from those that a producer leaves where it cut a value, without a
// search for each.
func mayEndInMarker(tail string) bool {
	switch tail[len(tail)-1] {
	case ']', '>', ')':
		return strings.Contains(tail, "runcated") || strings.Contains(tail, "TRUNCATED") || strings.Contains(tail, "bytes") || strings.Contains(tail, "char")
	}
	return strings.HasSuffix(tail, "...") || strings.HasSuffix(tail, "…")
}

// cutEnd is how programs mark a value that they cut.
var cutEnd = regexp.MustCompile(`(?:\.\.\.|…)( ?[\[<(]truncated(?: [^\])>]{1,40})?[\])>])?$`)

// cutToRound recognises a text that was cut to a round number of characters, the marker among them (AG2: 8192 unless told otherwise) or behind them, as hand-written
// spans have it. A tool that cuts what it returns may write the same marker, and what it returned is whole.
func cutToRound(text string) bool {
	from := max(0, len(text)-80)
	at := cutEnd.FindStringSubmatchIndex(text[from:])
	if at == nil || strings.HasSuffix(text[:from+at[0]], ".") {
		return false
	}
	n, all := utf8.RuneCountInString(text[:from+at[0]]), utf8.RuneCountInString(text)
	return n >= 200 && (n%100 == 0 || n&(n-1) == 0) || at[2] >= 0 && (all%1000 == 0 || all%1024 == 0)
}

// ForgeCut recognises a value that Forge cut. It returns what is left of it and the length of the whole value in bytes. Forge leaves 4069
// bytes before its marker, which tells its cut from a tool that prints the marker. Redaction changes the length: in a text with redaction
// tokens the marker and a length that Forge cuts are enough.
func ForgeCut(text string) (prefix string, whole int, cut bool) {
	at := max(0, len(text)-80)
	m := ForgeMarker.FindStringSubmatchIndex(text[at:])
	if m == nil {
		return "", 0, false
	}
	digits := text[at+m[2] : at+m[3]]
	whole, err := strconv.Atoi(digits)
	if err != nil || whole <= 4096 || len(text) != 4084+len(digits) && len(token.Find(text)) == 0 {
		return "", 0, false
	}
	return text[:at+m[0]], whole, true
}

// scrubbed begins what Logfire writes in place of a value whose name or text speaks of a secret; the attribute logfire.scrubbed lists where.
const scrubbed = "[Scrubbed due to "

var scrubbedForm = regexp.MustCompile(`\[Scrubbed due to (?:'[^']*'|"[^"]*")\]`)

// sanitizedForm is what OpenCode exports in place of a text or a path when it is asked to leave out content.
var sanitizedForm = regexp.MustCompile(`^\[redacted:[a-z-]{1,40}:[A-Za-z0-9_-]{1,80}\]$`)

func isSanitized(text string) bool {
	return strings.HasPrefix(text, "[redacted:") && sanitizedForm.MatchString(text)
}

// mayHoldMask says whether a text can hold a mask, so that others cost a search only. A mask of exactMasks is all of a text, the word behind the name
// of a scheme, or a leaf of a structure. Two of them have three letters in common, which prose has not.
func mayHoldMask(text string) bool {
	if strings.Contains(text, scrubbed) || isSanitized(text) {
		return true
	}
	if len(text) > maxScheme+1+longestMask {
		if trimmed := strings.TrimSpace(text); trimmed == "" || strings.IndexByte(`{["(`, trimmed[0]) < 0 {
			return false
		}
	}
	return strings.Contains(text, "RED") && (strings.Contains(text, "REDACTED") || strings.Contains(text, "FILTERED")) ||
		strings.Contains(text, "readacted") || strings.Contains(text, "[MaxDepth]")
}

// maxScheme is how long the name of a scheme is at most.
const maxScheme = 10

var longestMask = len(slices.MaxFunc(slices.Collect(maps.Keys(exactMasks)), func(a, b string) int { return len(a) - len(b) }))

// masksIn returns masked for a value that a producer replaced as a whole, and lossy for one in which it replaced something: a whole leaf, a
// credential behind the word that names its scheme, or words that no text has by chance. Texts that are JSON or Python literals are looked into.
func masksIn(v exactjson.Value) tape.Label {
	if v.Kind() != exactjson.String {
		if slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return masksIn(m.Value) != "" }) {
			return tape.Lossy
		}
		return ""
	}
	text := v.Str()
	if !mayHoldMask(text) {
		return ""
	}
	if LabelOf(text) == tape.Masked {
		return tape.Masked
	}
	scheme, credential, ok := strings.Cut(text, " ")
	inside := ok && len(scheme) <= maxScheme && exactMasks[credential] || scrubbedForm.MatchString(text)
	if inner, ok := ParseStructure(text); ok && !inside {
		inside = masksIn(inner) != ""
	} else if inner, lossy, ok := Python(text); ok && !lossy && !inside {
		inside = masksIn(inner) != ""
	}
	if inside {
		return tape.Lossy
	}
	return ""
}

// emptyInGo is what the exporters for Go write in place of a value of a log record that is empty, such as a null.
const emptyInGo = "INVALID"

// ReadEmpty reads as null what an exporter for Go writes for an empty value in calls and results, and says of each that a text may have stood there that says so.
func ReadEmpty(messages []Message) {
	for i := range messages {
		m := &messages[i]
		if !anyPart(m.Parts, func(p *Part) bool { return HoldsEmpty(p.Args) || HoldsEmpty(p.Result) }) {
			continue
		}
		m.Parts = slices.Clone(m.Parts)
		for i := range m.Parts {
			if p := &m.Parts[i]; HoldsEmpty(p.Args) || HoldsEmpty(p.Result) {
				p.Args, p.Result, p.Emptied = withoutEmpty(p.Args), withoutEmpty(p.Result), true
			}
		}
	}
}

// HoldsEmpty reports a value in which a text stands that exporters for Go write for an empty value.
func HoldsEmpty(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		return v.Str() == emptyInGo
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return HoldsEmpty(m.Value) })
}

func withoutEmpty(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String && v.Str() == emptyInGo {
		return exactjson.NullValue
	}
	return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return withoutEmpty(m.Value) })
}

// LabelMasks labels content that a producer masked, as a whole or in part.
func (c *Content) LabelMasks() {
	if c.Label == "" {
		c.Label = masksIn(c.Value)
		c.Masked = c.Label == tape.Lossy
	}
}

// LabelRewritten labels the calls of a message in whose arguments a filter wrote texts of JSON again, see RewrittenJSON.
func LabelRewritten(parts []Part) {
	for i := range parts {
		if p := &parts[i]; p.Type == tape.PartToolCall && p.Label == "" && RewrittenJSON(p.Args) {
			p.Label = tape.Lossy
		}
	}
}

// RewrittenJSON reports an object or list that holds a text of JSON as JavaScript writes it. A filter that parses such texts and writes them again (Mastra's, of sensitive data) leaves
// nothing of the white space in them.
func RewrittenJSON(v exactjson.Value) bool {
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		if m.Value.Kind() != exactjson.String {
			return RewrittenJSON(m.Value)
		}
		inner, ok := ParseStructure(m.Value.Str())
		return ok && inner.Len() > 0 && inner.JSON() == m.Value.Str()
	})
}

// labelText labels a part by its text: masked, as a whole or in part, or cut.
func (p *Part) labelText() {
	if p.Label = LabelOf(p.Text); p.Label == "" {
		p.Label = masksIn(exactjson.StringValue(p.Text))
		p.Masked = p.Label == tape.Lossy
	}
}

// TextArray makes a JSON array of texts.
func TextArray(texts []string) exactjson.Value {
	values := make([]exactjson.Value, len(texts))
	for i, t := range texts {
		values[i] = exactjson.StringValue(t)
	}
	return exactjson.ArrayValue(values...)
}

// LeadingElements returns the complete elements at the beginning of a JSON array that was cut.
func LeadingElements(text string) exactjson.Value {
	end := 0
	scan := jsonscan.New(text, 0)
	for t := scan.Next(); t.Kind != jsonscan.Bad && t.Kind != jsonscan.End; t = scan.Next() {
		if t.Kind == jsonscan.Close && scan.Depth() == 1 && text[t.Start] == '}' {
			end = t.End
		}
	}
	if end == 0 || text[0] != '[' {
		return exactjson.ArrayValue()
	}
	v, err := exactjson.Parse(text[:end] + "]")
	if err != nil {
		return exactjson.ArrayValue()
	}
	return v
}

// LabelMasked labels content as lossy if the producer replaced a secret in it by [REDACTED].
func (c *Content) LabelMasked() {
	if text := c.Value.Str() + c.Text; c.Label == "" && strings.Contains(text, "[REDACTED]") {
		c.Label, c.Masked = tape.Lossy, true
	}
}
